#![allow(clippy::print_stdout, missing_docs, clippy::unwrap_used, clippy::allow_attributes)]
use haloscope_core::*;
fn main() {
    let mut args = std::env::args().skip(1);
    let what = args.next().unwrap();
    for a in args {
        let run = match load::find(a.as_ref()) {
            Ok(r) => r,
            Err(e) => {
                println!("{e}");
                continue;
            }
        };
        let t = std::time::Instant::now();
        let p = match load::open(&run) {
            Ok(p) => p,
            Err(e) => {
                println!("{e} -> {}", e.exit_code());
                continue;
            }
        };
        let mut params = analyses::Params::default();
        let id = match what.split_once(':') {
            Some((id, by)) => {
                let (k, v) = by.split_once('=').unwrap();
                params.set(k, v);
                id
            }
            None => &what,
        };
        match analyses::run(analyses::find(id).unwrap(), &p, &scope::Scope::default(), &params) {
            Ok(r) => print!("{}", r.to_json()),
            Err(e) => {
                eprintln!("{e}");
                std::process::exit(i32::from(e.exit_code()))
            }
        }
        eprintln!("{a} {:?}", t.elapsed());
    }
}
