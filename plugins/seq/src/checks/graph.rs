//! Circles in a graph of calls. A loop, no recursion: a chain may be thousands long. Each
//! node's edges are asked for once, so the cost is that of what can be reached.

use std::collections::HashSet;
use std::hash::Hash;

/// The first way, in the order of the edges, that leads from `start` back to it; both ends
/// are `start`.
pub(super) fn circle<N: Clone + Eq + Hash>(
    start: &N,
    mut next: impl FnMut(&N) -> Vec<N>,
) -> Option<Vec<N>> {
    let mut way = vec![(start.clone(), next(start).into_iter())];
    let mut seen: HashSet<N> = HashSet::new();
    while let Some((_, edges)) = way.last_mut() {
        match edges.next() {
            Some(node) if &node == start => {
                let mut circle: Vec<N> = way.into_iter().map(|(node, _)| node).collect();
                circle.push(node);
                return Some(circle);
            }
            // What was left without a find cannot lead to `start`.
            Some(node) => {
                if seen.insert(node.clone()) {
                    let edges = next(&node).into_iter();
                    way.push((node, edges));
                }
            }
            None => {
                way.pop();
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_is_named_in_order() {
        let edges = |node: &u32| match node {
            1 => vec![2, 3],
            2 => vec![4, 2],
            3 => vec![5],
            5 => vec![4, 1],
            _ => vec![],
        };
        assert_eq!(circle(&1, edges), Some(vec![1, 3, 5, 1]));
        assert_eq!(circle(&2, edges), Some(vec![2, 2]));
        assert_eq!(circle(&4, edges), None);
    }

    #[test]
    fn a_long_chain_is_walked_once() {
        let mut asked = 0_u32;
        let chain = |node: &u32| {
            asked += 1;
            if *node < 100_000 {
                vec![node + 1, node + 1]
            } else {
                vec![0]
            }
        };
        assert_eq!(circle(&0, chain).map(|way| way.len()), Some(100_002));
        assert_eq!(asked, 100_001);
    }
}
