# Independent figures for tests/data/calibration_tests.json, by R: base and stats, pROC and rms of Debian.
#
#     Rscript tests/reference/other/calibration_tests.R tests/data/calibration_tests.json
#
# writes the file anew. tests/unit/assess/test_calibration_tests.py compares fastbin with it.
suppressMessages({library(jsonlite); library(pROC); library(rms)})

kuiper <- function(p, y) {  # cumulative differences at the ends of ties
  d <- tapply(y - p, p, sum)
  path <- c(0, cumsum(d)) / length(p)
  c(range = max(path) - min(path), largest = max(abs(path)), sigma = sqrt(sum(p * (1 - p))) / length(p))
}

law <- function(p) {  # of the number of ones
  l <- 1
  for (q in p) l <- c(l * (1 - q), 0) + c(0, l * q)
  l
}

hoslem <- function(p, y) {  # as hoslem.test of ResourceSelection if deciles differ, with as many degrees of freedom as groups
  cuts <- unique(quantile(p, probs = seq(0.1, 0.9, 0.1)))
  group <- droplevels(cut(p, breaks = c(-Inf, cuts, Inf)))
  seen <- xtabs(cbind(y0 = 1 - y, y1 = y) ~ group)
  expected <- xtabs(cbind(y0 = 1 - p, y1 = p) ~ group)
  statistic <- sum((seen - expected)^2 / expected)
  g <- nrow(seen)
  list(statistic = statistic, df = g, p = pchisq(statistic, g, lower.tail = FALSE),
       p_fitted = pchisq(statistic, g - 2, lower.tail = FALSE))
}

scores <- function(p, y) {  # isotonic regression after pooling ties
  n <- as.vector(tapply(y, p, length)); ones <- as.vector(tapply(y, p, sum)); x <- sort(unique(p))
  rate <- rep(NA, length(x))
  values <- isoreg(rep(seq_along(x), n), rep(ones / n, n))$yf
  rate <- values[cumsum(n)]
  r <- rate[match(p, x)]
  log_score <- function(q) -mean(ifelse(y == 1, log(q), log(1 - q)))
  base <- mean(y)
  own <- mean((p - y)^2); best <- mean((r - y)^2)
  gap <- abs(p - r)
  list(mcb_brier = own - best, dsc_brier = base * (1 - base) - best, unc_brier = base * (1 - base),
       mcb_log = log_score(p) - log_score(r), dsc_log = log_score(rep(base, length(p))) - log_score(r),
       unc_log = log_score(rep(base, length(p))), ici = mean(gap),
       e50 = unname(quantile(gap, 0.5)), e90 = unname(quantile(gap, 0.9)))
}

figures <- function(p, y, rho) {
  n <- length(p); k <- sum(y)
  l <- law(p)
  upper <- sum(l[(k + 1):(n + 1)]); lower <- sum(l[1:(k + 1)]); own <- l[k + 1]
  x <- qlogis(p)
  large <- glm(y ~ offset(x), family = binomial, control = list(epsilon = 1e-14, maxit = 100))
  fit <- glm(y ~ x, family = binomial, control = list(epsilon = 1e-14, maxit = 100))
  free <- logLik(fit)
  fixed <- sum(dbinom(y, 1, p, log = TRUE))
  v <- suppressWarnings(val.prob(p, y, pl = FALSE, smooth = FALSE))
  r <- roc(y, p, quiet = TRUE, direction = "<", levels = c(0, 1))
  area <- ci.auc(r, method = "delong", conf.level = 0.95)
  interval <- function(m, i) unname(confint.default(m, level = 0.95)[i, ])
  z <- (k - sum(p)) / sqrt(sum(p * (1 - p)))
  c(list(exact = min(1, 2 * min(upper, lower)), exact_upper = upper,
         mid_p = min(1, 2 * min(upper - own / 2, lower - own / 2)),
         jeffreys = pbeta(mean(p), k + 0.5, n - k + 0.5),
         jeffreys_ends = qbeta(c(0.025, 0.975), k + 0.5, n - k + 0.5),
         mean_difference = list(statistic = k / n - mean(p), p = 2 * pnorm(-abs(z))),
         hosmer_lemeshow = hoslem(p, y),
         spiegelhalter = list(statistic = unname(v["S:z"]), p = unname(v["S:p"])),
         calibration_in_the_large = list(statistic = unname(coef(large)[1]), ends = interval(large, 1),
                                         p = unname(coef(summary(large))[1, 4])),
         calibration_intercept = list(statistic = unname(coef(fit)[1]), ends = interval(fit, 1),
                                      p = unname(coef(summary(fit))[1, 4])),
         calibration_slope = list(statistic = unname(coef(fit)[2]), ends = interval(fit, 2),
           p = unname(2 * pnorm(-abs((coef(fit)[2] - 1) / sqrt(vcov(fit)[2, 2]))))),
         val_prob = list(intercept = unname(v["Intercept"]), slope = unname(v["Slope"])),
         cox = list(statistic = unname(2 * (as.numeric(free) - fixed)), p = unname(v["U:p"])),
         auc = list(statistic = area[2], ends = c(area[1], area[3])),
         kuiper = as.list(kuiper(p, y))), scores(p, y))
}

case <- function(name, p, y, rho = 0.12) {
  p <- signif(p, 6)
  list(name = name, p = p, y = as.integer(y), figures = figures(p, y, rho))
}

set.seed(20)
n <- 250
p1 <- plogis(rnorm(n, -1, 1)); y1 <- rbinom(n, 1, p1)
p2 <- plogis(rnorm(n, -2, 1.2)); y2 <- rbinom(n, 1, plogis(0.4 + 0.7 * qlogis(p2)))
p3 <- sample(c(0.01, 0.03, 0.1, 0.3), 400, TRUE); y3 <- rbinom(400, 1, p3)
p4 <- round(runif(60), 2) * 0.98 + 0.01; y4 <- rbinom(60, 1, p4)

one <- function(k, n, p) list(
  k = k, n = n, p = p,
  upper = binom.test(k, n, p, alternative = "greater")$p.value, lower = binom.test(k, n, p, alternative = "less")$p.value,
  ends = as.vector(binom.test(k, n, p)$conf.int), jeffreys = pbeta(p, k + 0.5, n - k + 0.5))

vasicek <- function(k, n, p, rho) {
  f <- function(z) dnorm(z) * pbinom(k - 1, n, pnorm((qnorm(p) + sqrt(rho) * z) / sqrt(1 - rho)), lower.tail = FALSE)
  ends <- seq(-10, 10, 0.1)
  total <- sum(sapply(seq_along(ends[-1]), function(i) integrate(f, ends[i], ends[i + 1], rel.tol = 1e-10)$value))
  list(k = k, n = n, p = p, rho = rho, chance = total)
}

set.seed(123)  # the example of hoslem.test
x <- rnorm(500)
y <- rbinom(500, 1, plogis(0.1 + 0.5 * x))
fitted <- fitted(glm(y ~ x, family = binomial))

set.seed(123)  # the example of psi of the package KAscore
bins <- c("[188,215]", "(215,221]", "(221,227]", "(227,237]")
before <- factor(sample(bins, 1000, TRUE, c(0.25, 0.25, 0.25, 0.25)), levels = bins)
after <- factor(sample(bins, 200, TRUE, c(0.1, 0.2, 0.3, 0.4)), levels = bins)
shares <- list(as.vector(table(before)) / 1000, as.vector(table(after)) / 200)

data(aSAH)
versions <- sapply(c("pROC", "rms", "jsonlite"), function(name) as.character(packageVersion(name)))
result <- list(
  source = paste("tests/reference/other/calibration_tests.R by", R.version.string),
  versions = as.list(versions),
  cases = list(case("calibrated", p1, y1), case("overconfident", p2, y2), case("four grades", p3, y3), case("ties", p4, y4)),
  one_prediction = list(one(12, 400, 0.02), one(0, 50, 0.01), one(682, 925, 0.75), one(3, 10000, 1e-4), one(40, 40, 0.9)),
  vasicek = list(vasicek(12, 400, 0.02, 0.12), vasicek(1, 800, 0.0131, 0.12), vasicek(5, 50, 0.05, 0.24),
                 vasicek(900, 20000, 0.03, 0.05), vasicek(30, 30, 0.5, 0.5)),
  hoslem_example = list(p = unname(fitted), y = y, figures = hoslem(fitted, y)),
  psi_example = list(reference = as.vector(table(before)), new = as.vector(table(after)),
                     index = sum((shares[[2]] - shares[[1]]) * log(shares[[2]] / shares[[1]]))),
  aSAH = list(s100b = aSAH$s100b, poor = as.integer(aSAH$outcome == "Poor"),
              auc = as.vector(ci.auc(roc(aSAH$outcome, aSAH$s100b, quiet = TRUE, levels = c("Good", "Poor"), direction = "<")))))
writeLines(toJSON(result, digits = NA, auto_unbox = TRUE, pretty = 1), commandArgs(TRUE)[1])
