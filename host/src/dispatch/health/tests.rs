use super::*;
use crate::tool::{Digest, Reason, ToolError};

fn health(retry: Duration) -> Health {
    let circuits = Circuits {
        retry,
        ..Circuits::default()
    };
    Health::new(circuits, EventBus::default())
}

fn version(generation: u64) -> Implementation {
    Implementation {
        plugin: PluginName::new("p").unwrap(),
        version: "1".into(),
        digest: Digest::of(&generation.to_le_bytes()),
        generation,
    }
}

fn failure(kind: FailureKind) -> Failure {
    Failure::new(kind, ToolError::new(Reason::Trapped, "unreachable"))
}

fn call(health: &Health, version: &Implementation, caller: &str, trap: bool) -> bool {
    let Ok(pass) = health.enter(version, caller) else {
        return false;
    };
    let outcome: Result<(), _> = if trap {
        Err(failure(FailureKind::Trapped))
    } else {
        Ok(())
    };
    pass.ended(&outcome);
    true
}

#[test]
fn three_traps_in_a_row_close_the_door_for_that_caller() {
    let (health, v) = (health(Duration::from_secs(30)), version(1));
    for _ in 0..3 {
        assert!(call(&health, &v, "a", true));
    }
    let refused = health.enter(&v, "a").unwrap_err();
    assert_eq!(refused.kind, FailureKind::Unavailable);
    let text = refused.error.to_string();
    assert!(text.contains("unreachable"), "{text}");
    assert!(text.contains("30 s"), "{text}");
    assert!(call(&health, &v, "b", false), "others are not concerned");
    assert_eq!(health.open(), 1);
    let troubles = health.troubles(&v);
    assert_eq!(troubles.len(), 1);
    assert!(troubles[0].refused_for.is_some());
}

#[test]
fn a_success_between_ends_the_streak_and_other_failures_do_not() {
    let (health, v) = (health(Duration::from_secs(30)), version(1));
    for trap in [true, true, false, true, true] {
        assert!(call(&health, &v, "a", trap));
    }
    let pass = health.enter(&v, "a").unwrap();
    pass.ended::<()>(&Err(failure(FailureKind::Timeout)));
    assert_eq!(health.open(), 0);
    assert!(call(&health, &v, "a", true));
    assert_eq!(health.open(), 1);
}

#[test]
fn old_traps_are_forgotten() {
    let circuits = Circuits {
        within: Duration::ZERO,
        ..Circuits::default()
    };
    let (health, v) = (Health::new(circuits, EventBus::default()), version(1));
    for _ in 0..10 {
        assert!(call(&health, &v, "a", true));
    }
    assert_eq!(health.open(), 0);
}

#[test]
fn one_call_is_tried_and_decides() {
    let (health, v) = (health(Duration::ZERO), version(1));
    for _ in 0..3 {
        assert!(call(&health, &v, "a", true));
    }
    let probe = health.enter(&v, "a").unwrap();
    assert!(health.enter(&v, "a").is_err(), "one at a time");
    // Given up without an answer: the next may try.
    drop(probe);
    let probe = health.enter(&v, "a").unwrap();
    probe.ended::<()>(&Err(failure(FailureKind::Trapped)));
    assert_eq!(health.open(), 1);
    assert!(call(&health, &v, "a", false));
    assert_eq!(health.open(), 0);
    assert!(health.troubles(&v).is_empty());
}

#[test]
fn three_callers_close_it_for_everybody_and_one_probe_opens_it_again() {
    let (patient, v) = (health(Duration::from_secs(30)), version(1));
    let brief = health(Duration::ZERO);
    for health in [&patient, &brief] {
        for caller in ["a", "b"] {
            for _ in 0..3 {
                // With no time between, the fourth and later calls are probes.
                assert!(call(health, &v, caller, true));
            }
        }
        assert!(call(health, &v, "d", false));
        for _ in 0..3 {
            assert!(call(health, &v, "c", true));
        }
        assert_eq!(health.open(), 3);
    }
    assert!(patient.enter(&v, "d").is_err());
    assert!(call(&brief, &v, "d", false));
    assert_eq!(brief.open(), 0);
}

#[test]
fn another_version_starts_anew() {
    let (health, v) = (health(Duration::from_secs(30)), version(1));
    for _ in 0..3 {
        assert!(call(&health, &v, "a", true));
    }
    let new = version(2);
    assert!(call(&health, &new, "a", false), "even before it is told");
    health.renewed(&new);
    assert_eq!(health.open(), 0);
    assert!(call(&health, &new, "a", false));
    // A late trap of the old version counts for nothing.
    assert!(call(&health, &new, "a", true));
    assert!(call(&health, &v, "a", true));
    assert_eq!(health.troubles(&new).len(), 1);
}
