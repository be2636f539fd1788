/**
 * The definition of an edition. Its id is a hash of the prompt, the model, the persona and the settings, so the same
 * command continues the edition of a killed process. Another prompt makes another edition with its own id.
 */
import { either as E } from 'fp-ts'
import { RENDERER_VERSION } from '../../domain/conversation/clip-archive.js'
import type { Conversation } from '../../domain/conversation/conversation.js'
import { hashOf } from '../../domain/values/hash.js'
import { modelWindow } from '../../ports/model-windows.js'
import { resolvePolicy, type BadPolicy } from '../../domain/values/policy.js'
import type { PolicySettings } from '../../domain/values/policy-settings.js'
import type { Summarizer, SummaryJob } from '../../ports/summarizer.js'
import type { EditionPlan } from './replay-conversation.js'

/** The inputs that determine an edition. */
export interface EditionMakers {
  readonly summarizer: Summarizer
  readonly persona: string
  /** Settings that override those of a conversation. */
  readonly settings: PolicySettings | undefined
}

/** Twelve hexadecimal digits without a dash, since the name of the stream contains the id. */
const ID_DIGITS = 12

/** Fixed jobs: the id depends on how a job is sent, not on its messages. */
const PROBE: readonly SummaryJob[] = [
  { kind: 'chunk', messages: [], existingSummary: undefined, maxSummaryTokens: 1024, temperature: 0, persona: '' },
  { kind: 'resummarize', summaries: [], maxSummaryTokens: 1024, temperature: 0, persona: '' },
]

const NONE: ReadonlySet<string> = new Set()

/**
 * The id of the edition that these inputs make. Throws if a custom summarizer cannot prepare a job without messages.
 * @param erased editions that an erasure removed summaries from: their ids are not used again
 */
export function editionIdOf(makers: EditionMakers, erased: ReadonlySet<string> = NONE): string {
  for (let attempt = 0; ; attempt += 1) {
    const editionId = nextEditionId(makers, attempt)
    if (!erased.has(editionId)) return editionId
  }
}

/**
 * Whether these inputs make this edition, also after erasures.
 * @param existing all editions of the ledger: an id is used after the one before it
 */
export function makesEdition(makers: EditionMakers, editionId: string, existing: ReadonlySet<string>): boolean {
  for (let attempt = 0; ; attempt += 1) {
    const id = nextEditionId(makers, attempt)
    if (id === editionId) return true
    if (!existing.has(id)) return false
  }
}

function nextEditionId({ summarizer, persona, settings }: EditionMakers, again: number): string {
  const probes = PROBE.map((job) => {
    const { prompt, parameters, formatterVersion } = summarizer.prepare(job)
    return { prompt: prompt.sha256, parameters, formatterVersion }
  })
  const { strategy, provider, model, windowTokens } = summarizer
  // Earlier versions called the setting `fallback` `standIn`. Under that name the id of an edition stays the same.
  const { fallback: standIn, ...others } = settings ?? {}
  const named = { ...others, ...(standIn === undefined ? {} : { standIn }) }
  const makers = { strategy, provider, model, windowTokens, asked: probes, persona, settings: named }
  return hashOf(again === 0 ? makers : { ...makers, again }).slice(0, ID_DIGITS)
}

/** The plan of an edition of one conversation: its configuration with the overriding settings. */
export function planEdition(
  editionId: string,
  conversation: Conversation,
  { summarizer, settings: overrides }: EditionMakers,
): E.Either<BadPolicy | { readonly kind: 'NotConfigured' }, EditionPlan> {
  const configuration = conversation.configuration
  if (configuration === undefined) return E.left({ kind: 'NotConfigured' })
  const settings = { ...configuration.settings, ...overrides }
  const { strategy, provider, model, windowTokens } = summarizer
  return E.map((policy: typeof configuration.policy): EditionPlan => ({
    editionId,
    configuration: { ...configuration, policy, settings, rendererVersion: RENDERER_VERSION },
    summarizer: { strategy, provider, model },
    conversation,
  }))(resolvePolicy(settings, windowTokens, modelWindow))
}
