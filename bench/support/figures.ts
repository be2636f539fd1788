/** The results of benchmarks: figures, each with the baseline that was measured in the same run. */

export type Engine = 'native' | 'pglite'

export interface Figure {
  /** The name of the figure. */
  readonly name: string
  /** The measured value with its unit. */
  readonly value: string
  /** The value as a number, for sorting runs. */
  readonly measured: number
  /** The baseline with its value; undefined if the figure has an absolute limit. */
  readonly baseline?: string
  /** Value over baseline. */
  readonly ratio?: number
  /** The target in words; undefined for a figure without a target. */
  readonly target?: string
  readonly met?: boolean
  /** How it was measured, if the name does not explain it. */
  readonly note?: string
}

export interface Place {
  /** The `store` option for `openLedger`. */
  readonly store: string
  remove(): Promise<void>
}

export interface Bench {
  readonly engine: Engine
  /** A new, empty database on the server, or a directory that does not exist yet. */
  createPlace(label: string): Promise<Place>
  /** Logs progress. */
  readonly say: (text: string) => void
}

export interface Group {
  readonly title: string
  /** True if the figures do not depend on the engine, so that one run is valid for both. */
  readonly anyEngine?: boolean
  /** The only engine that it supports; undefined for both. */
  readonly only?: Engine
  /** Returns the figures, or a sentence that explains why it cannot run here. */
  run(bench: Bench): Promise<readonly Figure[] | string>
}

export interface Machine {
  readonly cpu: string
  readonly cores: number
  readonly memoryGb: number
  readonly node: string
  readonly load: number
}

/** The results of one run of a group. The report combines all runs that were made in succession. */
export interface Result {
  readonly group: string
  readonly title: string
  readonly engine: Engine | 'any'
  readonly measuredAt: string
  readonly seconds: number
  readonly database: string
  readonly machine: Machine
  readonly figures: readonly Figure[]
  readonly notRun?: string
}

export const milliseconds = (value: number): string =>
  `${value < 10 ? value.toFixed(2) : value < 100 ? value.toFixed(1) : value.toFixed(0)} ms`
export const perSecond = (value: number, what: string): string => `${Math.round(value).toLocaleString('en')} ${what}/s`

const compared = (ratio: number): string => (ratio < 10 ? ratio.toFixed(2) : ratio.toFixed(0))
export const ratioText = (ratio: number | undefined): string => (ratio === undefined ? '' : `${compared(ratio)} x`)

/** A figure with an upper limit as a multiple of its baseline. */
export const atMost = (
  name: string,
  value: number,
  of: { readonly name: string; readonly value: number },
  most: number,
  unit: (value: number) => string,
  note?: string,
): Figure => ({
  name,
  value: unit(value),
  measured: value,
  baseline: `${of.name}: ${unit(of.value)}`,
  ratio: value / of.value,
  target: `<= ${String(most)} x`,
  met: value / of.value <= most,
  ...(note === undefined ? {} : { note }),
})

/** A figure with a lower limit as a share of its baseline. */
export const atLeastShare = (
  name: string,
  value: number,
  of: { readonly name: string; readonly value: number },
  least: number,
  unit: (value: number) => string,
  note?: string,
): Figure => ({
  name,
  value: unit(value),
  measured: value,
  baseline: `${of.name}: ${unit(of.value)}`,
  ratio: value / of.value,
  target: `>= ${String(least)} x`,
  met: value / of.value >= least,
  ...(note === undefined ? {} : { note }),
})

/** A figure with an absolute limit, and a baseline for comparison. */
export function against(
  name: string,
  value: number,
  limit: { readonly most: number } | { readonly least: number },
  unit: (value: number) => string,
  of?: { readonly name: string; readonly value: number },
  note?: string,
): Figure {
  const met = 'most' in limit ? value <= limit.most : value >= limit.least
  const target = 'most' in limit ? `<= ${unit(limit.most)}` : `>= ${unit(limit.least)}`
  return {
    name,
    value: unit(value),
    measured: value,
    ...(of === undefined ? {} : { baseline: `${of.name}: ${unit(of.value)}`, ratio: value / of.value }),
    target,
    met,
    ...(note === undefined ? {} : { note }),
  }
}

/** A figure without a target. */
export const reported = (
  name: string,
  value: number,
  unit: (value: number) => string,
  of?: { readonly name: string; readonly value: number },
  note?: string,
): Figure => ({
  name,
  value: unit(value),
  measured: value,
  ...(of === undefined ? {} : { baseline: `${of.name}: ${unit(of.value)}`, ratio: value / of.value }),
  ...(note === undefined ? {} : { note }),
})
