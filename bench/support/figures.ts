/** What a benchmark gives: figures, each beside the baseline that was measured in the same run. */

export type Engine = 'native' | 'pglite'

export interface Figure {
  /** What was measured. */
  readonly name: string
  /** The measured value with its unit. */
  readonly value: string
  /** The same as a number, which several runs are put in order by. */
  readonly measured: number
  /** What it is read beside, with its own value; undefined where a limit stands for itself. */
  readonly baseline?: string
  /** Value over baseline. */
  readonly ratio?: number
  /** In words; undefined for a figure that is told and not judged. */
  readonly target?: string
  readonly met?: boolean
  /** How it was measured, where the name does not say it. */
  readonly note?: string
}

export interface Place {
  /** What `openLedger` takes as its store. */
  readonly store: string
  remove(): Promise<void>
}

export interface Bench {
  readonly engine: Engine
  /** A new, empty database on the server, or a folder that is not there yet. */
  place(label: string): Promise<Place>
  /** Says what it is doing; nothing of it is a figure. */
  readonly say: (text: string) => void
}

export interface Group {
  readonly title: string
  /** True where the figures have nothing to do with the engine, and one run serves both. */
  readonly anyEngine?: boolean
  /** The one engine that it is for, where it is not for both. */
  readonly only?: Engine
  /** Gives its figures, or says in a sentence why it cannot run here. */
  run(bench: Bench): Promise<readonly Figure[] | string>
}

export interface Machine {
  readonly cpu: string
  readonly cores: number
  readonly memoryGb: number
  readonly node: string
  readonly load: number
}

/** What a run of a group found. The report is written from all runs that were made one behind the other. */
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

/** A figure that must not be more than so many times its baseline. */
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

/** A figure that must be at least such a share of its baseline. */
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

/** A figure that is held against a limit of its own, and read beside its baseline. */
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

/** A figure that is told and not judged. */
export const told = (
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
