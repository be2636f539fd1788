/**
 * The settings of compaction, their defaults, and the two limits that follow from them. The whole policy is recorded in
 * the stream, and readers go by what is recorded.
 */
import { DEFAULT_WINDOW_TOKENS, knownWindow, type FindWindow } from './model-windows.js'
import { either as E } from 'fp-ts'
import { z } from 'zod'
import { notKnown } from '../text/known-names.js'
import { checkId } from './ids.js'
import { issueSentence } from './issue-sentence.js'
import { VIEWS } from './view-names.js'

const count = z.number().int().nonnegative()
const positive = z.number().int().positive()

/**
 * What somebody may set. What is left out takes its default; `maxSummaryTokens`, `chunkMinTokens` and `chunkMaxTokens`
 * follow from the rest.
 */
export const policySettingsSchema = z.strictObject({
  /** The model whose window counts where `modelMaxTokens` is not given. */
  model: z.string().min(1).optional(),
  modelMaxTokens: z.number().int().min(256).optional(),
  /** Share of the window that starts a cycle. */
  contextBudget: z.number().gt(0).lte(1).optional(),
  systemReserve: count.optional(),
  outputReserve: count.optional(),
  safetyBuffer: count.optional(),
  /** Messages a chunk has at least. */
  chunkSize: positive.optional(),
  /** Tokens a chunk has at least; 0 for chunks by count alone. */
  chunkMinTokens: count.optional(),
  /** Tokens a chunk has at most: what the summarizer's own window takes. */
  chunkMaxTokens: positive.optional(),
  /** Messages at the end that stay as they are. */
  keepRecent: positive.optional(),
  clipFirst: count.optional(),
  clipMiddle: count.optional(),
  clipLast: positive.optional(),
  /** Batches beyond those shown before the oldest become one. */
  buffer: count.optional(),
  maxSummaryTokens: positive.optional(),
  temperature: z.number().min(0).max(2).optional(),
  view: z.enum(VIEWS).optional(),
  /** Who summarizes at the hard limit when the summarizer fails. */
  standIn: z.enum(['extractive', 'none']).optional(),
})
/** The settings as they are given and recorded; tokens, messages and batches are whole numbers. */
export interface PolicySettings {
  /**
   * The model whose window counts where `modelMaxTokens` is not given. A name that is not known counts 128,000
   * (`registerModelWindow`).
   */
  model?: string | undefined
  /** What the model's window takes, in tokens; 256 or more. Default: by the model's name, else 128,000. */
  modelMaxTokens?: number | undefined
  /** Share of the window, less the reserves, that starts a cycle: above 0, at most 1. Default 0.8. */
  contextBudget?: number | undefined
  /** Tokens kept free for what the host puts in front itself. Default 0. */
  systemReserve?: number | undefined
  /** Tokens kept free for the answer. Default 0. */
  outputReserve?: number | undefined
  /** Tokens kept free because estimates are off. Default 0. */
  safetyBuffer?: number | undefined
  /** Messages that a chunk, which gets one summary, has at least. Default 20. */
  chunkSize?: number | undefined
  /** Tokens that a chunk has at least; 0 for chunks by count alone. Default 16 × `maxSummaryTokens`. */
  chunkMinTokens?: number | undefined
  /** Tokens that a chunk has at most. Default 60 % of the summarizer's own window. */
  chunkMaxTokens?: number | undefined
  /** Messages at the end that stay as they are. Default 5. */
  keepRecent?: number | undefined
  /** Batches, oldest first, that the clip-archive view always shows. Default 2. */
  clipFirst?: number | undefined
  /** Of the batches in between, how many of the deepest the view shows. Default 1. */
  clipMiddle?: number | undefined
  /** Batches, newest last, that the view always shows; 1 or more. Default 2. */
  clipLast?: number | undefined
  /** Batches beyond those shown before the oldest of them become one. Default 10. */
  buffer?: number | undefined
  /** Tokens that a summary has at most. Default a fortieth of the soft limit, at most 1,024. */
  maxSummaryTokens?: number | undefined
  /** Temperature that the summarizer's model is asked with, 0 to 2. Default 0. */
  temperature?: number | undefined
  /** How what was compacted is shown: `clip-archive` (the default) or `session-summary`. */
  view?: (typeof VIEWS)[number] | undefined
  /** Who summarizes at the hard limit when the summarizer fails: `extractive` (the default), or `none`. */
  standIn?: 'extractive' | 'none' | undefined
}

/** The policy in force: every setting with its number. */
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
  standIn: z.enum(['extractive', 'none']),
})
/** The settings with every default filled in. */
export type Policy = z.infer<typeof policySchema>

/**
 * Share of a window that a chunk may fill; the rest is for the template, the background, the answer and a rough
 * estimate's error.
 */
const CHUNK_SHARE_OF_WINDOW = 0.6
/** How many summaries of the largest size would fill the soft limit, unless 1,024 tokens each are fewer. */
const SUMMARIES_A_SOFT_LIMIT = 40
/** A summary below 64 tokens says next to nothing, but five of them must not fill a tiny window either. */
const defaultSummaryTokens = (soft: number): number =>
  Math.max(16, Math.min(64, Math.floor(soft / 16)), Math.min(1024, Math.floor(soft / SUMMARIES_A_SOFT_LIMIT)))
/** Tokens of a chunk in summaries of the largest size: a summary that replaces less is not worth its call. */
const CHUNK_IN_SUMMARIES = 16

type Window = Pick<Policy, 'modelMaxTokens' | 'systemReserve' | 'outputReserve' | 'safetyBuffer'>

/** The hard limit in tokens: no context is ever above it. */
export function hardLimit(policy: Window): number {
  return policy.modelMaxTokens - policy.systemReserve - policy.outputReserve - policy.safetyBuffer
}

/** The soft limit in tokens: a context that reaches it starts a cycle. */
export function softLimit(policy: Window & Pick<Policy, 'contextBudget'>): number {
  // 0.8 is no binary fraction: 200,000 × 0.8 must be 160,000 and not 159,999, hence the rounding before the floor.
  return Math.floor(Number((hardLimit(policy) * policy.contextBudget).toFixed(6)))
}

export type BadPolicy = { readonly kind: 'BadPolicy'; readonly field: string; readonly detail: string }

/** What is wrong with a name that is no setting. */
const noSetting = (name: string): string =>
  notKnown(name, Object.keys(policySettingsSchema.shape), 'setting of the policy')

/**
 * Parses settings that came from outside, naming the field that is wrong. The name of a model is held to what may be
 * recorded today; the schema reads older facts too, which are as they are.
 */
export function parsePolicySettings(input: unknown): E.Either<BadPolicy, PolicySettings> {
  const bad = (field: string, detail: string): E.Either<BadPolicy, never> =>
    E.left({ kind: 'BadPolicy', field, detail })
  const parsed = policySettingsSchema.safeParse(input)
  if (parsed.success) {
    const { model } = parsed.data
    const name = model === undefined ? E.right('') : checkId('model', model)
    return E.isLeft(name) ? bad('model', name.left.detail) : E.right(parsed.data)
  }
  const issue = parsed.error.issues[0]
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys[0] : undefined
  if (unknown !== undefined) return bad(unknown, noSetting(unknown))
  return bad(issue?.path.join('.') || 'policy', issueSentence(issue))
}

/**
 * Every setting with its number.
 * @param settings what was set
 * @param summarizerWindowTokens the window of the model that summarizes, for `chunkMaxTokens`
 * @param modelWindow who knows the window of the agent's model, for `modelMaxTokens`
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
  // Shares measured with the extractive summarizer over 52 real conversations at 8,000 tokens
  // (docs/decisions/0003-default-policy.md): a sixteenth of the soft limit, four summaries' worth and a buffer of 6
  // took 1,564 calls; these take 1,111.
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
    view: settings.view ?? 'clip-archive',
    standIn: settings.standIn ?? 'extractive',
  })
}
