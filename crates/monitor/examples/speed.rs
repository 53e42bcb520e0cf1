fn cpu() -> f64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    t.tv_sec as f64 + t.tv_nsec as f64 * 1e-9
}
use weakspot_core::*;
use weakspot_monitor::*;
fn main() {
    for p in [2u64, 4, 8, 16, 64] {
        for a in [1000u64, 1_000_000] {
            let n = 1 << 22;
            let mut x = 88172645463325252u64;
            let mut rng = || {
                x ^= x << 13;
                x ^= x >> 7;
                x ^= x << 17;
                x
            };
            let events: Vec<LogEvent> = (0..n)
                .map(|_| {
                    let r = rng();
                    let kind = match r % 100 {
                        0..60 => LogKind::Read,
                        60..97 => LogKind::Write,
                        97..99 => LogKind::Update,
                        _ => LogKind::Fence,
                    };
                    let mut e = LogEvent::new((rng() % p) as u16, kind, (rng() % a) as u32);
                    e.site = 1 + (rng() % 100) as u32;
                    e
                })
                .collect();
            print!("P={p} A={a}: ");
            for models in [
                &[Model::Tso][..],
                &[Model::Pso(Drain::All)],
                &[Model::Tso, Model::Pso(Drain::All)],
            ] {
                let mut m = Monitor::new(models, Form::All);
                m.events(&events).unwrap();
                let mut best = f64::MAX;
                for _ in 0..4 {
                    let t = cpu();
                    m.events(&events).unwrap();
                    best = best.min(cpu() - t);
                }
                print!(
                    "{:.1} M/s ({:.1}% {:.1}%) ",
                    n as f64 / best / 1e6,
                    100.0 * m.total(Model::Tso) as f64 / m.seen() as f64,
                    100.0 * m.total(Model::Pso(Drain::All)) as f64 / m.seen() as f64
                );
            }
            println!();
        }
    }
}
