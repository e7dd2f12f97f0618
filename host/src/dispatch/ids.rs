//! Ids of the model, made unique: a server may give two calls one id, or none.

use std::{collections::HashSet, sync::Arc};

use super::call::Numbered;
use crate::tool::Batch;

/// Longer ids are replaced: they are the model's invention.
const MAX: usize = 256;

pub(super) fn assign(batch: Batch) -> Vec<Numbered> {
    let count = batch.calls.len();
    let mut taken: HashSet<String> = HashSet::with_capacity(count);
    let mut numbered = Vec::with_capacity(count);
    // A made id never equals a given one, wherever that stands.
    let given: HashSet<String> = batch
        .calls
        .iter()
        .filter_map(|call| call.id.clone())
        .collect();
    for (index, call) in (0..).zip(batch.calls) {
        let usable = call
            .id
            .as_deref()
            .filter(|id| !id.trim().is_empty() && id.len() <= MAX);
        let (id, original) = match usable {
            Some(id) if taken.insert(id.to_owned()) => (id.to_owned(), None),
            _ => {
                let free = |n: &u32| {
                    let name = format!("call_{n}");
                    !given.contains(&name) && !taken.contains(&name)
                };
                let n = (index..).find(free).unwrap_or(index);
                let id = format!("call_{n}");
                taken.insert(id.clone());
                (id, call.id)
            }
        };
        numbered.push(Numbered {
            id: id.into(),
            original_id: original,
            index,
            name: call.name,
            arguments: Arc::new(call.arguments),
            cut: batch.cut && usize::try_from(index).is_ok_and(|index| index + 1 == count),
        });
    }
    numbered
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::{RawArguments, ToolCall};

    fn ids(given: &[Option<&str>]) -> Vec<(String, Option<String>)> {
        let calls = given
            .iter()
            .map(|id| ToolCall {
                id: id.map(str::to_owned),
                name: "x".into(),
                arguments: RawArguments::Absent,
            })
            .collect();
        assign(Batch { calls, cut: false })
            .into_iter()
            .map(|call| (call.id.to_string(), call.original_id))
            .collect()
    }

    #[test]
    fn every_call_has_an_id_of_its_own() {
        let all = ids(&[
            Some("a"),
            Some("a"),
            None,
            Some(""),
            Some("call_1"),
            Some("b"),
        ]);
        let unique: HashSet<_> = all.iter().map(|(id, _)| id).collect();
        assert_eq!(unique.len(), 6, "{all:?}");
        assert_eq!(all[0], ("a".into(), None));
        assert_eq!(all[1].1.as_deref(), Some("a"));
        assert_eq!(all[4], ("call_1".into(), None));
        assert_eq!(all[5], ("b".into(), None));
    }
}
