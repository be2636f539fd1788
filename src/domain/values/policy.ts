/**
 * Reads the settings of compaction and computes the policy in force, and the two limits derived from it. The stream
 * records the whole policy, and readers use the recorded one.
 */
import { either as E } from 'fp-ts'
import { compileBoundedPattern } from '../../lib/bounded-pattern.js'
import { notKnown } from '../text/known-names.js'
import { checkId } from './ids.js'
import { issueSentence } from './issue-sentence.js'
import { DEFAULT_WINDOW_TOKENS, knownWindow, type FindWindow } from './model-windows.js'
import {
  fixedSettings,
  inListOrder,
  policySettings,
  policySettingsSchema,
  type Policy,
  type PolicySettings,
} from './policy-settings.js'

/**
 * Share of the summarizer's window that a chunk may fill. The rest is for the template, the background, the answer and
 * the error of the estimate.
 */
const CHUNK_SHARE_OF_WINDOW = 0.6
/** The soft limit divided by this is the default size of a summary, up to 1,024 tokens. */
const SUMMARIES_A_SOFT_LIMIT = 40
/** A summary below 64 tokens is of little use, but five of them must not fill a tiny window. */
const defaultSummaryTokens = (soft: number): number =>
  Math.max(16, Math.min(64, Math.floor(soft / 16)), Math.min(1024, Math.floor(soft / SUMMARIES_A_SOFT_LIMIT)))
/** Size of a chunk in summaries of the largest size. Replacing less is not worth a call. */
const CHUNK_IN_SUMMARIES = 16

type Window = Pick<Policy, 'modelMaxTokens' | 'systemReserve' | 'outputReserve' | 'safetyBuffer'>

/** The hard limit in tokens. No context exceeds it. */
export function hardLimit(policy: Window): number {
  return policy.modelMaxTokens - policy.systemReserve - policy.outputReserve - policy.safetyBuffer
}

/** The soft limit in tokens. A context that reaches it starts a cycle. */
export function softLimit(policy: Window & Pick<Policy, 'contextBudget'>): number {
  // 0.8 has no exact binary form: 200,000 × 0.8 must be 160,000 and not 159,999. So round before the floor.
  return Math.floor(Number((hardLimit(policy) * policy.contextBudget).toFixed(6)))
}

/** Most tokens of the view of the compacted messages. */
export const viewTokens = ({
  clipFirst,
  clipMiddle,
  clipLast,
  maxSummaryTokens,
}: Pick<Policy, 'clipFirst' | 'clipMiddle' | 'clipLast' | 'maxSummaryTokens'>): number =>
  (clipFirst + clipMiddle + clipLast) * maxSummaryTokens

export type BadPolicy = { readonly kind: 'BadPolicy'; readonly field: string; readonly detail: string }

/** The message about an unknown setting. */
const noSetting = (name: string): string => notKnown(name, Object.keys(policySettings), 'setting of the policy')

/** The name of a kind of secrets, which is part of each mark. */
const SECRET_KIND = /^[a-z][a-z0-9-]{0,39}$/u

/** The first pattern that cannot be used, or undefined. */
function wrongPattern({ secretPatterns = {}, secretAllow = [] }: PolicySettings): BadPolicy | undefined {
  const bad = (field: string, detail: string): BadPolicy => ({ kind: 'BadPolicy', field, detail })
  for (const kind of Object.keys(secretPatterns))
    if (!SECRET_KIND.test(kind))
      return bad(
        'secretPatterns',
        `has the kind ${JSON.stringify(kind)}: use 1 to 40 small letters, digits and hyphens, a letter first`,
      )
  const fields = { secretPatterns: Object.values(secretPatterns), secretAllow }
  for (const [field, patterns] of Object.entries(fields))
    for (const pattern of patterns) {
      const compiled = compileBoundedPattern(pattern)
      if (E.isLeft(compiled)) return bad(field, `the pattern ${JSON.stringify(pattern)} ${compiled.left.detail}`)
    }
  return undefined
}

/**
 * Parses settings from outside; an error names the wrong field. The name of a model and the patterns must satisfy
 * today's rules. The schema does not require that, because it also reads older events.
 */
export function parsePolicySettings(input: unknown): E.Either<BadPolicy, PolicySettings> {
  const bad = (field: string, detail: string): E.Either<BadPolicy, never> =>
    E.left({ kind: 'BadPolicy', field, detail })
  const parsed = policySettingsSchema.safeParse(input)
  if (parsed.success) {
    const { model } = parsed.data
    const name = model === undefined ? E.right('') : checkId('model', model)
    if (E.isLeft(name)) return bad('model', name.left.detail)
    const pattern = wrongPattern(parsed.data)
    return pattern === undefined ? E.right(parsed.data) : E.left(pattern)
  }
  const issue = parsed.error.issues[0]
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys[0] : undefined
  if (unknown !== undefined) return bad(unknown, noSetting(unknown))
  return bad(issue?.path.join('.') || 'policy', issueSentence(issue))
}

/**
 * Fills in all defaults.
 * @param settings the settings that were set
 * @param summarizerWindowTokens the window of the summarizer's model, for `chunkMaxTokens`
 * @param modelWindow finds the window of the agent's model, for `modelMaxTokens`
 */
export function resolvePolicy(
  settings: PolicySettings,
  summarizerWindowTokens = DEFAULT_WINDOW_TOKENS,
  modelWindow: FindWindow = knownWindow,
): E.Either<BadPolicy, Policy> {
  const fixed = fixedSettings(settings)
  const window = {
    modelMaxTokens: settings.modelMaxTokens ?? modelWindow(settings.model),
    systemReserve: fixed.systemReserve,
    outputReserve: fixed.outputReserve,
    safetyBuffer: fixed.safetyBuffer,
    contextBudget: fixed.contextBudget,
  }
  if (hardLimit(window) < 128) {
    const detail = `leaves ${String(hardLimit(window))} tokens after systemReserve, outputReserve and safetyBuffer: at least 128 are needed`
    return E.left({ kind: 'BadPolicy', field: 'modelMaxTokens', detail })
  }
  // Measured with the extractive summarizer over 52 real conversations at 8,000 tokens
  // (docs/decisions/0003-default-policy.md): a sixteenth of the soft limit, chunks of four summaries and a buffer of 6
  // took 1,564 calls; these values take 1,111.
  const maxSummaryTokens = settings.maxSummaryTokens ?? defaultSummaryTokens(softLimit(window))
  const chunkMinTokens = settings.chunkMinTokens ?? CHUNK_IN_SUMMARIES * maxSummaryTokens
  const chunkMaxTokens =
    settings.chunkMaxTokens ?? Math.max(64, Math.floor(summarizerWindowTokens * CHUNK_SHARE_OF_WINDOW))
  const policy = { ...fixed, ...window, maxSummaryTokens, chunkMinTokens, chunkMaxTokens }
  // Recorded policies begin with the window.
  return E.right({ ...window, ...inListOrder(policy) })
}
