/** Plans an erasure with the copies of its messages in other conversations. */
import type { Log } from '../recording/load-conversation.js'
import type { TextKeys } from '../sealing/text-keys.js'
import { hasCopies, planConversation, type ConversationPlan, type MessageChoice } from './plan.js'

/** What an erasure removes from one conversation. */
export interface PlannedConversation {
  readonly plan: ConversationPlan
  readonly choice: MessageChoice
  /** The conversation of the originals, if these messages are copies. */
  readonly copyOf?: string
}

/** A plan of the conversations that name erased messages, and of those that have copies of them. */
export async function planWithCopies(
  log: Log,
  keys: TextKeys,
  conversationIds: readonly string[],
  choice: MessageChoice,
  childrenOf: (conversationId: string) => Promise<readonly string[]>,
): Promise<readonly PlannedConversation[]> {
  const planned: PlannedConversation[] = []
  for (const conversationId of conversationIds)
    planned.push({ plan: await planConversation(log, keys, conversationId, choice), choice })
  // Copies are copied further.
  for (const each of planned) planned.push(...(await copiesOf(log, keys, each, planned, childrenOf)))
  return planned
}

async function copiesOf(
  log: Log,
  keys: TextKeys,
  { plan, choice }: PlannedConversation,
  known: readonly PlannedConversation[],
  childrenOf: (conversationId: string) => Promise<readonly string[]>,
): Promise<PlannedConversation[]> {
  const copyOf = plan.conversationId
  const ofCopies: MessageChoice = {
    scope: 'copies',
    conversationId: copyOf,
    messageIds: choice.scope === 'conversation' ? undefined : new Set(plan.erased.map(({ messageId }) => messageId)),
    fingerprints: new Set(plan.fingerprints),
  }
  const found: PlannedConversation[] = []
  for (const child of await childrenOf(copyOf)) {
    if (known.some((each) => each.copyOf === copyOf && each.plan.conversationId === child)) continue
    if (await keys.isConversationErased(child)) continue
    const ofChild = await planConversation(log, keys, child, ofCopies)
    if (ofChild.scope === plan.scope && hasCopies(ofChild)) found.push({ plan: ofChild, choice: ofCopies, copyOf })
  }
  return found
}
