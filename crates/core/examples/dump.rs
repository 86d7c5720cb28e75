#![allow(clippy::print_stdout, missing_docs, clippy::unwrap_used, clippy::allow_attributes)]
use haloscope_core::*;
fn main() {
    for a in std::env::args().skip(1) {
        let run = match load::find(a.as_ref()) { Ok(r) => r, Err(e) => { println!("{e}"); continue } };
        let t = std::time::Instant::now();
        let p = match load::open(&run) { Ok(p) => p, Err(e) => { println!("{e} -> {}", e.exit_code()); continue } };
        println!("{a}: {:?}", t.elapsed());
        for h in &p.hosts { println!(" host {} {:?} {:?} {}", h.name, h.start_ns, h.capture_ps, h.base_ps); }
        for d in &p.devices { println!(" device {} {} {:?} active {}", d.name, d.type_name, d.peaks, d.active); }
        for pl in &p.planes { println!(" plane {} {:?} lines {} metas {}", pl.name, pl.kind, pl.lines.len(), pl.metas.len()); 
          for l in p.lines_of(pl.id) { let e = p.events(l); if e.len()>0 || l.event_count>0 { println!("   line {} {:?} {} {} span {:?} agg {} neg {} nameless {}", l.name, l.kind, l.event_count, e.len(), e.span_ps(), e.aggregated.len(), e.negative, e.nameless); } } }
        for m in &p.modules { println!(" module {} {} bytes", m.label(), m.proto.len); }
        for s in &p.sources { println!(" faults {} {:?} errors {:?}", s.faults.count(), s.faults.kept().first(), s.errors); }
    }
}
