/** What the tests of `explain` and `stats` share: the use cases over a harness, and what a tree ends at. */
import { explain } from '../../src/application/history/explain.js'
import type {
  BatchOrigin,
  ExplainOptions,
  Explanation,
  ExplainFailure,
  OriginalMessage,
} from '../../src/application/history/explanation.js'
import { stats, type ConversationStats, type TotalStats } from '../../src/application/history/stats.js'
import type { PriceTable } from '../../src/domain/reports/prices.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { either as E } from 'fp-ts'
import type { PolicySettings } from '../../src/domain/values/policy-settings.js'
import { editionOf } from './editions.js'
import { CONVERSATION, type Harness, type ScriptedSummarizer } from './harness.js'

type PlaceOf = Parameters<typeof explain>[0]['placeOf']

/** Simulates a missing read model: inactive batches are looked up in the log. */
const nowhere: PlaceOf = async () => await Promise.resolve(undefined)

/** Asks the use case, as the ledger does. */
export async function explainConversation(
  harness: Harness,
  options: ExplainOptions = {},
  placeOf = nowhere,
): Promise<Either<ExplainFailure, Explanation>> {
  return await explain({ log: harness.log, placeOf }, await harness.conversations.load(CONVERSATION), options)
}

/** The explanation of this kind; anything else fails the test. */
export async function explained<Kind extends Explanation['kind']>(
  harness: Harness,
  kind: Kind,
  options: ExplainOptions = {},
): Promise<Extract<Explanation, { kind: Kind }>> {
  const answer = await explainConversation(harness, options)
  if (E.isLeft(answer)) throw new Error(`refused: ${answer.left.kind}`)
  const isOf = (explanation: Explanation): explanation is Extract<Explanation, { kind: Kind }> =>
    explanation.kind === kind
  if (!isOf(answer.right)) throw new Error(`explained as ${answer.right.kind}`)
  return answer.right
}

/** The messages that a tree ends at, in its order. */
export const leaves = ({ chunk, sources }: BatchOrigin): OriginalMessage[] => [
  ...(chunk?.messages ?? []),
  ...sources.flatMap(leaves),
]

/** Every batch of a tree. */
export const batchesOf = (batch: BatchOrigin): BatchOrigin[] => [batch, ...batch.sources.flatMap(batchesOf)]

export interface Counted {
  readonly total: TotalStats
  readonly each: readonly ConversationStats[]
}

/** The tallies of all conversations. */
export async function counted(harness: Harness, prices: PriceTable = {}): Promise<Counted> {
  const each: ConversationStats[] = []
  const total = await stats(harness.log, {
    conversationId: undefined,
    prices,
    onConversation: (one) => {
      each.push(one)
    },
  })
  return { total, each }
}

/** Compacts the same history again into an edition, and puts that into force where it is asked for. */
export async function makeEdition(
  harness: Harness,
  editionId: string,
  settings: PolicySettings,
  summarizer: ScriptedSummarizer,
  isAdopted = true,
): Promise<void> {
  const edition = await editionOf(harness, settings, summarizer, editionId, CONVERSATION, 'operator')
  const advanced = await edition.advance()
  if (advanced.kind !== 'done') throw new Error(advanced.kind)
  if (!isAdopted) return
  const adopted = await harness.conversations.handle(
    CONVERSATION,
    [{ type: 'AdoptEdition', edition: edition.state() }],
    { actor: 'operator', correlationId: 'c', causationId: 'c' },
  )
  if (E.isLeft(adopted)) throw new Error(adopted.left.kind)
}
