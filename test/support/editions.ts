/** Editions for tests: begun, made to the end and adopted over a harness. */
import { either as E } from 'fp-ts'
import { createRegisterPrompt } from '../../src/application/recording/register-prompt.js'
import { openReplay, type ConversationReplay } from '../../src/application/editions/replay-conversation.js'
import { resolvePolicy } from '../../src/domain/values/policy.js'
import type { PolicySettings } from '../../src/domain/values/policy-settings.js'
import { CONVERSATION, type Harness, type ScriptedSummarizer } from './harness.js'

const BY = { actor: 'test', correlationId: 'c', causationId: 'c' }

/** An edition of a conversation of the harness under these settings, by this summarizer; nothing of it is made yet. */
export async function editionOf(
  harness: Harness,
  settings: PolicySettings,
  summarizer: ScriptedSummarizer,
  editionId = 'e1',
  conversationId = CONVERSATION,
  actor = 'test',
): Promise<ConversationReplay> {
  const conversation = await harness.conversations.load(conversationId)
  const policy = resolvePolicy(settings)
  if (E.isLeft(policy) || conversation.configuration === undefined) throw new Error('the conversation has no policy')
  const { strategy, provider, model } = summarizer
  const opened = await openReplay(
    {
      log: harness.log,
      clock: harness.clock,
      summarizer,
      persona: '',
      registerPrompt: createRegisterPrompt(harness.log, harness.clock),
      actor,
    },
    {
      editionId,
      configuration: { ...conversation.configuration, settings, policy: policy.right },
      summarizer: { strategy, provider, model },
      conversation,
    },
    { recording: true },
  )
  if (E.isLeft(opened)) throw new Error(opened.left.kind)
  return opened.right
}

/** Makes it to the conversation's end and adopts it. */
export async function adoptEdition(harness: Harness, edition: ConversationReplay): Promise<void> {
  const reached = await edition.advance()
  if (reached.kind !== 'done') throw new Error(`the edition stopped: ${JSON.stringify(reached)}`)
  const adopted = await harness.conversations.handle(
    CONVERSATION,
    [{ type: 'AdoptEdition', edition: edition.state() }],
    BY,
  )
  if (E.isLeft(adopted)) throw new Error(adopted.left.kind)
}
