//! Weights of use that fit readings of a limit best, by least squares within stretches of readings, and their
//! errors.

/// Number of classes of tokens: sent in full, read, written, and answered.
pub(super) const CLASSES: usize = 4;

/// Weight of use in a limit, in per cent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Weight {
    /// Weight of a dollar at list prices.
    Dollar(f64),
    /// Weights of a million tokens sent in full, read, written, and answered.
    Classes([f64; CLASSES]),
}

impl Weight {
    /// Per cent of the limit that a dollar takes, if prices are the weights.
    pub fn of_a_dollar(&self) -> Option<f64> {
        match self {
            Self::Dollar(weight) if *weight > 0.0 => Some(*weight),
            _ => None,
        }
    }
}

/// A reading: per cent, dollars and millions of tokens since the beginning of its window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub(super) percent: f64,
    pub(super) dollars: f64,
    pub(super) tokens: [f64; CLASSES],
}

/// Readings without a pause of the input between them.
pub(super) type Stretch = Vec<Point>;

/// Weights, with their errors.
pub(super) struct Candidate {
    pub(super) weight: Weight,
    pub(super) error: f64,
    pub(super) held_out: Option<f64>,
}

impl Candidate {
    /// Weights of figures that fit all windows best, or `None` if none fit.
    pub(super) fn of<const N: usize>(
        windows: &[Vec<Stretch>],
        figures: fn(&Point) -> [f64; N],
        weigh: fn(&Moments<N>) -> Option<Weight>,
    ) -> Option<Self> {
        let each: Vec<Moments<N>> =
            windows.iter().map(|stretches| Moments::of(stretches, figures)).collect();
        let mut all = Moments::<N>::default();
        for own in &each {
            all.add(own, 1.0);
        }
        let weight = weigh(&all)?;
        let held_out = held_out(windows, &each, &all, weigh);
        Some(Self { error: error(&weight, windows), held_out, weight })
    }
}

fn predicted(weight: &Weight, point: &Point) -> f64 {
    match weight {
        Weight::Dollar(weight) => weight * point.dollars,
        Weight::Classes(weights) => {
            weights.iter().zip(point.tokens).map(|(one, tokens)| one * tokens).sum()
        }
    }
}

/// Root mean square error of readings, with each stretch moved to where it fits best.
#[allow(clippy::cast_precision_loss)] // a count of readings
fn error(weight: &Weight, windows: &[Vec<Stretch>]) -> f64 {
    let mut squares = 0.0;
    let mut readings = 0;
    for points in windows.iter().flatten() {
        let off: Vec<f64> = points.iter().map(|one| one.percent - predicted(weight, one)).collect();
        // Use before a stretch that is not in the input moves all of its readings alike.
        let mean = off.iter().sum::<f64>() / off.len() as f64;
        squares += off.iter().map(|one| (one - mean).powi(2)).sum::<f64>();
        readings += off.len();
    }
    (squares / readings as f64).sqrt()
}

/// Mean error of the growth within a window, all of its stretches together, if the weights come from the
/// other windows (leave-one-out).
#[allow(clippy::cast_precision_loss)] // a count of windows
fn held_out<const N: usize>(
    windows: &[Vec<Stretch>],
    each: &[Moments<N>],
    all: &Moments<N>,
    weigh: fn(&Moments<N>) -> Option<Weight>,
) -> Option<f64> {
    if windows.len() < 2 {
        return None;
    }
    let mut sum = 0.0;
    for (stretches, own) in windows.iter().zip(each) {
        let mut others = *all;
        others.add(own, -1.0);
        let weight = weigh(&others)?;
        let off = |stretch: &Stretch| {
            let (first, last) = (stretch.first()?, stretch.last()?);
            let grown = predicted(&weight, last) - predicted(&weight, first);
            Some(last.percent - first.percent - grown)
        };
        sum += stretches.iter().filter_map(off).sum::<f64>().abs();
    }
    Some(sum / windows.len() as f64)
}

/// Sums of products of deviations from the mean of a stretch: of figures with each other, and of figures with
/// per cents.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moments<const N: usize> {
    squares: [[f64; N]; N],
    products: [f64; N],
}

impl<const N: usize> Default for Moments<N> {
    fn default() -> Self {
        Self { squares: [[0.0; N]; N], products: [0.0; N] }
    }
}

impl<const N: usize> Moments<N> {
    #[allow(clippy::cast_precision_loss)] // a count of readings
    fn of(stretches: &[Stretch], figures_of: fn(&Point) -> [f64; N]) -> Self {
        let mut moments = Self::default();
        for points in stretches {
            let count = points.len() as f64;
            let mut mean = [0.0; N];
            for point in points {
                for (sum, figure) in mean.iter_mut().zip(figures_of(point)) {
                    *sum += figure / count;
                }
            }
            let percent = points.iter().map(|point| point.percent).sum::<f64>() / count;
            for point in points {
                let figures = figures_of(point);
                for row in 0..N {
                    let own = figures[row] - mean[row];
                    moments.products[row] += own * (point.percent - percent);
                    for column in 0..N {
                        moments.squares[row][column] += own * (figures[column] - mean[column]);
                    }
                }
            }
        }
        moments
    }

    fn add(&mut self, other: &Self, times: f64) {
        for row in 0..N {
            self.products[row] += times * other.products[row];
            for column in 0..N {
                self.squares[row][column] += times * other.squares[row][column];
            }
        }
    }
}

/// Smallest sum of squares that is more than the rounding left after a window is taken out.
const SMALLEST_SQUARES: f64 = 1e-12;

/// Least-squares weight of a dollar.
pub(super) fn dollar_weight(moments: &Moments<1>) -> Option<Weight> {
    let Moments { squares: [[squares]], products: [product] } = *moments;
    // More use cannot leave more of a limit, so a weight is not negative.
    (squares > SMALLEST_SQUARES).then(|| Weight::Dollar((product / squares).max(0.0)))
}

/// Non-negative least-squares weights of the classes.
///
/// Every subset of classes is solved, and of the subsets without a negative weight the best one is taken.
pub(super) fn class_weights(moments: &Moments<CLASSES>) -> Option<Weight> {
    let Moments { squares, products } = moments;
    let mut best: Option<(f64, [f64; CLASSES])> = None;
    // Four classes have 15 subsets, so trying all of them is exact and cheap.
    for set in 1_u32..1 << CLASSES {
        let chosen: Vec<usize> = (0..CLASSES).filter(|class| set >> class & 1 == 1).collect();
        let Some(weights) = solved(squares, products, &chosen) else { continue };
        if weights.iter().any(|weight| *weight < 0.0) {
            continue;
        }
        // Decrease of the squares, compared with no weights at all.
        let gain: f64 =
            weights.iter().zip(products).map(|(weight, product)| weight * product).sum();
        if best.is_none_or(|(before, _)| gain > before) {
            best = Some((gain, weights));
        }
    }
    best.map(|(_, weights)| Weight::Classes(weights))
}

/// Solves the normal equations of the chosen classes by Gauss-Jordan elimination with partial pivoting; other
/// weights are zero.
///
/// `None` if the readings do not separate the classes.
fn solved(
    squares: &[[f64; CLASSES]; CLASSES],
    products: &[f64; CLASSES],
    chosen: &[usize],
) -> Option<[f64; CLASSES]> {
    /// Largest relative size of a pivot that is left if classes always grow together.
    const SMALLEST_PIVOT: f64 = 1e-9;
    let row = |row: &usize| -> Vec<f64> {
        chosen.iter().map(|column| squares[*row][*column]).chain([products[*row]]).collect()
    };
    let mut rows: Vec<Vec<f64>> = chosen.iter().map(row).collect();
    let size = chosen.len();
    for pivot in 0..size {
        let by_pivot = |one: &usize, other: &usize| {
            rows[*one][pivot].abs().total_cmp(&rows[*other][pivot].abs())
        };
        let largest = (pivot..size).max_by(by_pivot)?;
        rows.swap(pivot, largest);
        let scale = squares[chosen[pivot]][chosen[pivot]].abs();
        if scale <= SMALLEST_SQUARES || rows[pivot][pivot].abs() <= scale * SMALLEST_PIVOT {
            return None;
        }
        let own = rows[pivot].clone();
        for (number, row) in rows.iter_mut().enumerate() {
            let factor = if number == pivot { 0.0 } else { row[pivot] / own[pivot] };
            for (cell, above) in row.iter_mut().zip(&own).skip(pivot) {
                *cell -= factor * above;
            }
        }
    }
    let mut weights = [0.0; CLASSES];
    for (row, class) in chosen.iter().enumerate() {
        weights[*class] = rows[row][size] / rows[row][row];
    }
    Some(weights)
}
