/** What a cycle forgot, as the page shows it: the report of `forgotten` as fates, and what was done again. */
import { ITEM_KINDS, type ItemKind } from '../../domain/reports/forgotten/items.js'
import type { ForgottenCycle, JudgedItem, Ledger } from '../../library/ledger.js'
import type { Fate, FateName, Fates } from './losses.js'

const KINDS: Readonly<Record<ItemKind, string>> = {
  request: 'request',
  constraint: 'constraint',
  decision: 'decision',
  error: 'error',
  file: 'file',
  identifier: 'identifier',
  number: 'number',
  openCall: 'open call',
  subAgent: 'running sub-agent',
}

/** Items of a kind and a fate that are named; the others are counted. */
const MOST_NAMED = 40

const proofOf = ({ proof }: JudgedItem): string | undefined => {
  if (proof === undefined) return undefined
  return proof.kind === 'summary' ? `summary line ${String(proof.line)}: ${proof.text}` : `still there: ${proof.text}`
}

function named(items: readonly JudgedItem[], kind: ItemKind, fate: FateName): Fate[] {
  return items
    .filter((item) => item.kind === kind && item.verdict === fate)
    .slice(0, MOST_NAMED)
    .map((item) => ({
      kind: KINDS[kind],
      text: item.text,
      messageId: item.said.messageId,
      fate,
      proof: proofOf(item),
    }))
}

/** The report of a cycle as fates. */
export const fatesOf = ({ report: { counts, items } }: ForgottenCycle): Fates => ({
  counts: ITEM_KINDS.map((kind) => ({ kind: KINDS[kind], ...counts[kind] })),
  items: ITEM_KINDS.flatMap((kind) =>
    (['gone', 'blurred', 'kept', 'unknown'] as const).flatMap((fate) => named(items, kind, fate)),
  ),
})

/** The report of the cycle that ended at a revision; undefined where it is none of the conversation's own stream. */
export async function forgottenAt(
  ledger: Pick<Ledger, 'forgotten'>,
  conversationId: string,
  cycle: number,
  revision: bigint,
): Promise<ForgottenCycle | undefined> {
  let found: ForgottenCycle | undefined
  await ledger.forgotten(conversationId, {
    cycle,
    onCycle: (each) => {
      if (each.revision === revision) found = each
    },
  })
  return found
}
