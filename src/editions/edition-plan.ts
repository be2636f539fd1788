/**
 * What an edition is made of. Its id derives from the prompt, the model, the persona and the settings. So the same
 * command, given again, goes on with the edition that a killed process left. Another prompt makes another edition, and
 * is never mixed into this one.
 */
import { either as E } from 'fp-ts'
import { RENDERER_VERSION } from '../domain/conversation/clip-archive.js'
import type { Conversation } from '../domain/conversation/conversation.js'
import { hashOf } from '../domain/values/hash.js'
import { modelWindow } from '../ports/model-windows.js'
import { resolvePolicy, type BadPolicy, type PolicySettings } from '../domain/values/policy.js'
import type { Summarizer, SummaryJob } from '../ports/summarizer.js'
import type { EditionPlan } from './replay-conversation.js'

/** What decides what an edition will say. */
export interface EditionMakers {
  readonly summarizer: Summarizer
  readonly persona: string
  /** Settings over those that a conversation has itself. */
  readonly settings: PolicySettings | undefined
}

/** Twelve hexadecimal digits, and no dash: the name of a stream tells the edition by it. */
const ID_DIGITS = 12

/** The same for every conversation, so that what a job asks for does not tell editions apart, but how it is asked. */
const PROBE: readonly SummaryJob[] = [
  { kind: 'chunk', messages: [], existingSummary: undefined, maxSummaryTokens: 1024, temperature: 0, persona: '' },
  { kind: 'resummarize', summaries: [], maxSummaryTokens: 1024, temperature: 0, persona: '' },
]

/**
 * The id of the edition that these make. A summarizer of somebody's own that cannot prepare a job without messages
 * throws.
 */
export function editionIdOf({ summarizer, persona, settings }: EditionMakers): string {
  const asked = PROBE.map((job) => {
    const { prompt, parameters, formatterVersion } = summarizer.prepare(job)
    return { prompt: prompt.sha256, parameters, formatterVersion }
  })
  const { strategy, provider, model, windowTokens } = summarizer
  return hashOf({ strategy, provider, model, windowTokens, asked, persona, settings: settings ?? {} }).slice(
    0,
    ID_DIGITS,
  )
}

/** The plan of an edition of one conversation: its own configuration, with the given settings over its own. */
export function planEdition(
  editionId: string,
  conversation: Conversation,
  { summarizer, settings: given }: EditionMakers,
): E.Either<BadPolicy | { readonly kind: 'NotConfigured' }, EditionPlan> {
  const own = conversation.configuration
  if (own === undefined) return E.left({ kind: 'NotConfigured' })
  const settings = { ...own.settings, ...given }
  const { strategy, provider, model, windowTokens } = summarizer
  return E.map((policy: typeof own.policy): EditionPlan => ({
    editionId,
    configuration: { ...own, policy, settings, rendererVersion: RENDERER_VERSION },
    summarizer: { strategy, provider, model },
    conversation,
  }))(resolvePolicy(settings, windowTokens, modelWindow))
}
