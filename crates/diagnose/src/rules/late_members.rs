//! Members of collectives come at different times, now one last, now another, and nobody is to blame.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::rule::{Outcome, Rule, Standing};
use haloscope_profile::DeviceKind;
use haloscope_report::units;
use haloscope_report::{Link, Status};

pub(super) static RULE: Rule = Rule {
    id: "late_members",
    standing: Standing::Cause,
    on: &[DeviceKind::Tpu, DeviceKind::Gpu],
    needs: "steps of several members of the groups, and the programs, which say who is in which",
    threshold: None,
    check,
};

/// Less is the noise of any machine.
const WORTH: f64 = 0.03;

fn check(evidence: &Evidence<'_>) -> Outcome {
    let waits = evidence.waits();
    let (Some(cost), Some(waiting)) = (waits.others, waits.waiting) else {
        return Outcome::unknown(
            "nothing says which devices took part in which collective, in steps that all of them ran",
        );
    };
    let said = format!(
        "waits for members that come late take {} of the active window, {} of it without a slow device, a late host or a slow link",
        units::share(waiting),
        units::share(cost.communication)
    );
    if cost.saved < WORTH {
        return Outcome::clear(said);
    }
    let finding = Cause {
        id: RULE.id,
        claim: format!(
            "Collectives wait for members that come late for {} of the active window; which comes last changes",
            units::share(cost.communication)
        ),
        evidence: "no device, host or link is slower than its peers over the run: each takes its turn; the steps run again with every op as long as its median over the devices".into(),
        saved: Some(cost.saved),
        assuming: "if all came together".into(),
        lever: "find what makes single executions of an op long, on any device (`steps`, `hosts` by step): input of unlike size, experts or sequences of unlike load, neighbours on the machines; fewer collectives a step also wait less often".into(),
        falsifier: "in another capture one device comes last to most of them: then it is that device".into(),
        status: Status::Estimated,
        links: vec![Link::to("comm").table("skew"), Link::to("hosts").table("slowest")],
    };
    let finding = finding.into_finding(evidence).explaining("exposed_communication", cost.communication);
    Outcome::found(said, vec![finding])
}
