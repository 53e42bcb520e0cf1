fn cpu() -> f64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    t.tv_sec as f64 + t.tv_nsec as f64 * 1e-9
}
use weakspot_core::*;
use weakspot_monitor::*;
fn main() {
    let arg = |i: usize, d: u64| std::env::args().nth(i).map_or(d, |s| s.parse().unwrap());
    let (p, a, rounds, w, f) = (arg(1, 8), arg(2, 1000), arg(3, 20), arg(4, 37), arg(5, 1));
    let n = 1 << 21;
    let mut x = 88172645463325252u64;
    let mut rng = || {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        x
    };
    let events: Vec<LogEvent> = (0..n)
        .map(|_| {
            let r = rng() % 100;
            let kind = if r < w {
                LogKind::Write
            } else if r < w + f {
                LogKind::Update
            } else if r < w + 2 * f {
                LogKind::Fence
            } else {
                LogKind::Read
            };
            let mut e = LogEvent::new((rng() % p) as u16, kind, (rng() % a) as u32);
            e.site = 1 + (rng() % 100) as u32;
            e
        })
        .collect();
    let mut m = Monitor::new(&[Model::Tso], Form::All);
    let mut best = f64::MAX;
    for _ in 0..rounds {
        let t = cpu();
        m.events(&events).unwrap();
        best = best.min(cpu() - t);
    }
    println!(
        "P={p} A={a} {:.1} M/s, {:.2}% reports",
        n as f64 / best / 1e6,
        100.0 * m.total(Model::Tso) as f64 / m.seen() as f64
    );
}
