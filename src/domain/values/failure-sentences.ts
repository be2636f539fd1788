/**
 * Maps each failure to a message. Each capability has a `failures.ts` with the messages of its own
 * failures; the library looks them up.
 */
import type { FailureKind } from '../../lib/failure-kinds.js'
import { count } from '../text/count.js'

/** The failures of one kind. */
type OfKind<Failure, Kind> = Failure extends { readonly kind: infer Kinds }
  ? Kind extends Kinds
    ? Failure
    : never
  : never

/** One entry for each kind of failure. The compiler reports a missing one. */
export type Sentences<Failure extends { readonly kind: FailureKind }> = {
  readonly [Kind in Failure['kind']]: (failure: OfKind<Failure, Kind>) => string
}

/** The message of a failure. */
export function sentenceOf<Failure extends { readonly kind: FailureKind }>(
  sentences: Sentences<Failure>,
  failure: Failure,
): string {
  const kind: Failure['kind'] = failure.kind
  // TypeScript cannot see that the function under a kind accepts the failures of that kind.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return (sentences[kind] as (failure: Failure) => string)(failure)
}

const MAX_LISTED = 12

/** Lists names for a message. Long lists are cut: hundreds of names would hide the message. */
export const listed = (names: readonly string[]): string =>
  `${names.slice(0, MAX_LISTED).join(', ')}${names.length <= MAX_LISTED ? '' : ` and ${count(names.length - MAX_LISTED)} more`}`
