/**
 * The settings of compaction, their defaults, and the two limits derived from them. The stream records the whole
 * policy, and readers use the recorded one.
 */
import { DEFAULT_WINDOW_TOKENS, knownWindow, type FindWindow } from './model-windows.js'
import { either as E } from 'fp-ts'
import { z } from 'zod'
import { compileBoundedPattern } from '../../lib/bounded-pattern.js'
import { notKnown } from '../text/known-names.js'
import { checkId } from './ids.js'
import { issueSentence } from './issue-sentence.js'
import { SHAPES, type Shape } from './context-shapes.js'
import { VIEWS } from './view-names.js'

const count = z.number().int().nonnegative()
const positive = z.number().int().positive()

/**
 * The settings that a user may set. Absent ones get their default; `maxSummaryTokens`, `chunkMinTokens` and
 * `chunkMaxTokens` are derived from the others.
 */
export const policySettingsSchema = z.strictObject({
  /** The model whose window is used if `modelMaxTokens` is absent. */
  model: z.string().min(1).optional(),
  modelMaxTokens: z.number().int().min(256).optional(),
  /** Share of the window that starts a cycle. */
  contextBudget: z.number().gt(0).lte(1).optional(),
  systemReserve: count.optional(),
  outputReserve: count.optional(),
  safetyBuffer: count.optional(),
  /** Fewest messages of a chunk. */
  chunkSize: positive.optional(),
  /** Fewest tokens of a chunk; 0 to form chunks by count alone. */
  chunkMinTokens: count.optional(),
  /** Most tokens of a chunk: the amount that fits in the summarizer's window. */
  chunkMaxTokens: positive.optional(),
  /** Recent messages that are not compacted. */
  keepRecent: positive.optional(),
  clipFirst: count.optional(),
  clipMiddle: count.optional(),
  clipLast: positive.optional(),
  /** Batches in addition to those always shown, before the oldest are merged. */
  buffer: count.optional(),
  maxSummaryTokens: positive.optional(),
  temperature: z.number().min(0).max(2).optional(),
  view: z.enum(VIEWS).optional(),
  shape: z.enum(SHAPES).optional(),
  /** The fallback at the hard limit if the summarizer fails. */
  fallback: z.enum(['extractive', 'none']).optional(),
  /** Whether secrets are replaced before anything is recorded. */
  redaction: z.enum(['on', 'off']).optional(),
  /** Patterns of secrets in addition to the built-in ones, by kind. */
  secretPatterns: z.record(z.string(), z.string()).optional(),
  /** Patterns of texts that are no secrets. */
  secretAllow: z.array(z.string()).readonly().optional(),
})
/** The settings as set and recorded. Tokens, messages and batches are whole numbers. */
export interface PolicySettings {
  /**
   * The model whose window is used if `modelMaxTokens` is absent. An unknown name has 128,000 tokens
   * (`registerModelWindow`).
   */
  model?: string | undefined
  /** The model's context window in tokens; 256 or more. Default: by the model's name, or else 128,000. */
  modelMaxTokens?: number | undefined
  /** Share of the window minus the reserves that starts a cycle: above 0, at most 1. Default 0.8. */
  contextBudget?: number | undefined
  /** Tokens reserved for text that the host itself puts before the context. Default 0. */
  systemReserve?: number | undefined
  /** Tokens reserved for the answer. Default 0. */
  outputReserve?: number | undefined
  /** Tokens reserved because estimates are not exact. Default 0. */
  safetyBuffer?: number | undefined
  /** Fewest messages of a chunk, which gets one summary. Default 20. */
  chunkSize?: number | undefined
  /** Fewest tokens of a chunk; 0 to form chunks by count alone. Default 16 × `maxSummaryTokens`. */
  chunkMinTokens?: number | undefined
  /** Most tokens of a chunk. Default 60 % of the summarizer's window. */
  chunkMaxTokens?: number | undefined
  /** Recent messages that are not compacted. Default 5. */
  keepRecent?: number | undefined
  /** Oldest batches that the clip-archive view always shows. Default 2. */
  clipFirst?: number | undefined
  /** Deepest batches among the others that the clip-archive view shows. Default 1. */
  clipMiddle?: number | undefined
  /** Newest batches that the clip-archive view always shows; 1 or more. Default 2. */
  clipLast?: number | undefined
  /** Batches in addition to those always shown, before the oldest are merged. Default 10. */
  buffer?: number | undefined
  /** Most tokens of a summary. Default: a fortieth of the soft limit, at most 1,024. */
  maxSummaryTokens?: number | undefined
  /** Temperature for the summarizer's model, 0 to 2. Default 0. */
  temperature?: number | undefined
  /** How compacted messages are shown: `working-state` (the default), `clip-archive` or `session-summary`. */
  view?: (typeof VIEWS)[number] | undefined
  /**
   * The API whose rules a context follows: `openai`, `anthropic`, `gemini`, or `strict` (the default), which satisfies
   * all three.
   */
  shape?: Shape | undefined
  /** The fallback at the hard limit if the summarizer fails: `extractive` (the default), or `none`. */
  fallback?: 'extractive' | 'none' | undefined
  /** Whether secrets are replaced before anything is recorded. Default `on`. `verify` reports conversations with `off`. */
  redaction?: 'on' | 'off' | undefined
  /** Patterns of secrets in addition to the built-in ones, by kind: `{ 'shop-order': 'ORD-[0-9]{6}' }`. */
  secretPatterns?: Readonly<Record<string, string>> | undefined
  /** Patterns of texts that are no secrets. One must match the whole text that would be replaced. */
  secretAllow?: readonly string[] | undefined
}

/** The policy in force: a value for every setting. */
export const policySchema = z.strictObject({
  modelMaxTokens: positive,
  contextBudget: z.number(),
  systemReserve: count,
  outputReserve: count,
  safetyBuffer: count,
  chunkSize: positive,
  chunkMinTokens: count,
  chunkMaxTokens: positive,
  keepRecent: positive,
  clipFirst: count,
  clipMiddle: count,
  clipLast: count,
  buffer: count,
  maxSummaryTokens: positive,
  temperature: z.number(),
  view: z.enum(VIEWS),
  shape: z.enum(SHAPES),
  fallback: z.enum(['extractive', 'none']),
})
/** The settings, with all defaults filled in. */
export type Policy = z.infer<typeof policySchema>

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
const noSetting = (name: string): string =>
  notKnown(name, Object.keys(policySettingsSchema.shape), 'setting of the policy')

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
  const window = {
    modelMaxTokens: settings.modelMaxTokens ?? modelWindow(settings.model),
    systemReserve: settings.systemReserve ?? 0,
    outputReserve: settings.outputReserve ?? 0,
    safetyBuffer: settings.safetyBuffer ?? 0,
    contextBudget: settings.contextBudget ?? 0.8,
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
  return E.right({
    ...window,
    chunkSize: settings.chunkSize ?? 20,
    chunkMinTokens,
    chunkMaxTokens,
    keepRecent: settings.keepRecent ?? 5,
    clipFirst: settings.clipFirst ?? 2,
    clipMiddle: settings.clipMiddle ?? 1,
    clipLast: settings.clipLast ?? 2,
    buffer: settings.buffer ?? 10,
    maxSummaryTokens,
    temperature: settings.temperature ?? 0,
    view: settings.view ?? 'working-state',
    shape: settings.shape ?? 'strict',
    fallback: settings.fallback ?? 'extractive',
  })
}
