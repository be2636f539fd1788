/**
 * Failure → one sentence, and whose fault it is. Each capability has the sentences of its own failures in its
 * `failures.ts`; the library looks them up.
 */
import { count } from '../text/count.js'

/**
 * `input`: what was asked is wrong; `state`: it does not fit what is recorded; `world`: a store or model cannot be used
 * now; `data`: the log cannot be trusted or read.
 */
export type Fault = 'input' | 'state' | 'world' | 'data'

/** Whose fault it is, and what went wrong. */
export type Sentence = readonly [Fault, string]

/** The failures of this kind. */
type OfKind<Failure, Kind> = Failure extends { readonly kind: infer Kinds }
  ? Kind extends Kinds
    ? Failure
    : never
  : never

/** A sentence for each kind of failure: the compiler asks for one that was added. */
export type Sentences<Failure extends { readonly kind: string }> = {
  readonly [Kind in Failure['kind']]: (failure: OfKind<Failure, Kind>) => Sentence
}

/** The sentence of a failure. */
export function sentenceOf<Failure extends { readonly kind: string }>(
  sentences: Sentences<Failure>,
  failure: Failure,
): Sentence {
  const kind: Failure['kind'] = failure.kind
  // The compiler does not see that what stands under a failure's kind takes that failure.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return (sentences[kind] as (failure: Failure) => Sentence)(failure)
}

const MOST_LISTED = 12

/** Names in one sentence; hundreds would hide what it says. */
export const listed = (names: readonly string[]): string =>
  `${names.slice(0, MOST_LISTED).join(', ')}${names.length <= MOST_LISTED ? '' : ` and ${count(names.length - MOST_LISTED)} more`}`
