//! How much of the time in collectives is waiting for one slow device.

use super::Evidence;
use crate::derive::account::{Account, Class, Group, Times};
use crate::derive::steps::StepClass;
use crate::derive::straggler;
use crate::units;

impl Evidence<'_> {
    /// The share of the active window that devices spend in collectives only because one device comes late to all of them:
    /// what they communicate longer than the straggler itself does. `None` where no device is a straggler or nobody can tell.
    pub(in crate::analyses::diagnose) fn waiting_for_straggler(&self) -> Option<f64> {
        let accounts: Vec<&Account> = self.accounts().iter().flatten().collect();
        let mut times: Vec<Vec<Times>> = vec![Vec::new(); accounts.len()];
        let mut step_ps = Vec::new();
        for step in self.steps().rows.iter().filter(|step| step.class != StepClass::Edge) {
            let on: Option<Vec<_>> = accounts.iter().map(|account| step.on(account.device)).collect();
            let Some(on) = on else { continue };
            step_ps.push(on.iter().map(|at| at.duration_ps).max().unwrap_or(0) as f64);
            for ((own, account), at) in times.iter_mut().zip(&accounts).zip(on) {
                own.push(account.between(at.start_ps, at.end_ps));
            }
        }
        let work = |own: &Vec<Times>| own.iter().map(|t| t.of_group(Group::Working) as f64).collect();
        let works: Vec<Vec<f64>> = times.iter().map(work).collect();
        let standings = straggler::standings(&works, &step_ps);
        let slow = standings.iter().enumerate().filter(|(_, standing)| standing.is_straggler());
        let slow = slow.max_by(|a, b| a.1.cost_share.total_cmp(&b.1.cost_share))?.0;
        let communication = |own: &Vec<Times>| units::sum(own.iter().map(|t| t.of(Class::Communication)));
        let least = communication(&times[slow]);
        let waits = units::sum(times.iter().map(|own| (communication(own) - least).max(0)));
        let all: f64 = step_ps.iter().sum::<f64>() * accounts.len() as f64;
        (all > 0.0).then(|| (waits as f64 / all).min(self.share(Class::Communication)))
    }
}
