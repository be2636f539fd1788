/**
 * The strategy that needs no model, no key and no network: it selects sentences of the messages verbatim. It is the
 * default of the library, and the fallback at the hard limit when a model fails. The same input gives the same summary
 * on any machine.
 */
import { hashOf, sha256 } from '../../domain/values/hash.js'
import type { Sections } from '../../domain/events/index.js'
import { collectIdentifiers } from '../../domain/text/identifiers.js'
import { defaultEstimator } from '../../domain/values/tokens.js'
import type {
  MessageToSummarize,
  PreparedSummary,
  Summarizer,
  Summary,
  SummaryJob,
  SummaryToFold,
} from '../../ports/summarizer.js'
import { clipToTokens, textOf } from './format-messages.js'
import { summariesOfFormatter1 } from './formatter-1.js'
import { sectionsOfChunk, mergedSections } from './heuristic-sections.js'
import { selectSentences } from './select-sentences.js'
import { toolActions } from './tool-actions.js'
import { FILES_LABEL, GAP, unitsOfMessages, unitsOfSummaries, type Unit } from './units.js'

export const name = 'extractive'
const EXTRACTIVE_MODEL = 'extractive-5'
/** The formatter of its requests. The later ones write requests to a model. */
const EXTRACT_FORMATTER = 3
/**
 * Every version, with the formatter version of its requests. A new version is needed whenever the same messages may
 * give another summary.
 */
export const EXTRACTIVE_MODELS: Readonly<Record<string, number>> = {
  'extractive-1': 1,
  'extractive-2': 1,
  'extractive-3': 2,
  'extractive-4': 3,
  [EXTRACTIVE_MODEL]: EXTRACT_FORMATTER,
}
const WINDOW_TOKENS = 128_000
// A description of the strategy. It is registered and shown in place of a prompt.
const PROMPT_TEXT =
  'No prompt: sentences are chosen from the messages by what they seem to be (decisions, constraints, preferences, outcomes, errors), by their terms and by their place, each measured against those already chosen, and stand in time order.'
const PROMPT = { name: 'extractive', sha256: sha256(PROMPT_TEXT), text: PROMPT_TEXT }

// A summary of a quarter of its chunk is useful; with less than 64 tokens it would only be a heading.
const SHARE_OF_CHUNK = 0.25
const SHARE_OF_SUMMARIES = 0.5
const MIN_TOKENS = 64

const tokensOf = (text: string): number => defaultEstimator.text(text)

/** The tokens of texts, counted only until there are `enough`. */
function tokensUpTo(texts: Iterable<string>, enough: number): number {
  let tokens = 0
  for (const text of texts) {
    tokens += tokensOf(text.length > enough * 8 ? text.slice(0, enough * 8) : text)
    if (tokens >= enough) return enough
  }
  return tokens
}

function* textsOf(messages: readonly MessageToSummarize[]): Generator<string> {
  for (const message of messages) {
    yield textOf(message.content)
    for (const call of message.toolCalls ?? []) yield call.function?.arguments ?? ''
  }
}

const budget = (tokens: number, share: number, most: number): number =>
  Math.max(1, Math.min(most, Math.max(MIN_TOKENS, Math.ceil(tokens * share))))

/**
 * The chosen units as lines: one per message, consecutive calls together, and a line for each day if there are several.
 */
function renderUnits(chosen: readonly Unit[]): string {
  const units = chosen.toSorted((a, b) => a.order - b.order)
  const days = new Set(units.map((unit) => unit.day)).size > 1
  const lines: string[] = []
  let before: Unit | undefined
  for (const unit of units) {
    const newDay = days && unit.day !== before?.day
    if (newDay) lines.push(`[${unit.day}]`)
    const joins =
      before !== undefined &&
      !newDay &&
      unit.speaker === before.speaker &&
      (unit.kind === 'action' ? before.kind === 'action' : unit.group === before.group)
    if (joins) {
      const mark = unit.kind === 'action' ? '; ' : unit.index === (before?.index ?? 0) + 1 ? ' ' : GAP
      lines.push(`${lines.pop() ?? ''}${mark}${unit.text}`)
    } else lines.push(unit.speaker === '' ? unit.text : `${unit.speaker}: ${unit.text}`)
    before = unit
  }
  return lines.join('\n')
}

/** Renders as many of the chosen units as fit, dropping those with the lowest worth first. */
function renderWithin(chosen: readonly Unit[], maxTokens: number): string {
  for (let count = chosen.length; count > 0; count -= Math.max(1, Math.floor(count / 20))) {
    const text = renderUnits(chosen.slice(0, count))
    if (tokensOf(text) <= maxTokens) return text
  }
  const first = chosen[0]
  return first === undefined ? '' : clipToTokens(renderUnits([first]), maxTokens)
}

// Folders, branches and fractions look like paths too; only a name with an extension is a file.
const HAS_EXTENSION = /\.[^./\\]+$/u

/** Adds a line with files that the text does not name, if they fit. */
function withFiles(text: string, files: readonly string[], maxTokens: number): string {
  const missing = [...new Set(files)].filter((file) => HAS_EXTENSION.test(file) && !text.includes(file))
  if (missing.length === 0) return text
  let line = ''
  for (const file of missing) {
    const longer = line === '' ? `${FILES_LABEL}${file}` : `${line}, ${file}`
    if (tokensOf(`${text}\n${longer}`) > maxTokens) break
    line = longer
  }
  return line === '' ? text : `${text}\n${line}`
}

/** A description of messages without any text. */
function inventory(messages: readonly MessageToSummarize[]): string {
  const counts = new Map<string, number>()
  for (const { role } of messages) counts.set(role, (counts.get(role) ?? 0) + 1)
  const roles = Array.from(counts, ([role, count]) => `${String(count)} from ${role}`).join(', ')
  return `${String(messages.length)} ${messages.length === 1 ? 'message' : 'messages'} without text (${roles})`
}

interface Extract {
  readonly text: string
  readonly sections?: Sections
}

function pick(units: readonly Unit[], files: readonly string[], maxTokens: number): string {
  // A tenth is reserved for file names, if there are any.
  const forSentences = files.length > 1 ? Math.ceil(maxTokens * 0.9) : maxTokens
  const chosen = selectSentences(units, forSentences)
  const worthiest = units.reduce<Unit | undefined>(
    (best, unit) => (best === undefined || unit.score > best.score ? unit : best),
    undefined,
  )
  return withFiles(
    renderWithin(chosen.length > 0 || worthiest === undefined ? chosen : [worthiest], maxTokens),
    files,
    maxTokens,
  )
}

const nonEmpty = (text: string, otherwise: string, maxTokens: number): string => {
  const clipped = clipToTokens(text, maxTokens)
  return clipped.trim() !== '' ? clipped : clipToTokens(otherwise, maxTokens)
}

async function extractChunk(
  messages: readonly MessageToSummarize[],
  background: string | undefined,
  maxSummaryTokens: number,
): Promise<Extract> {
  const actions = toolActions(messages)
  const units = await unitsOfMessages(messages, actions, background)
  const enough = Math.ceil(maxSummaryTokens / SHARE_OF_CHUNK)
  const maxTokens = budget(tokensUpTo(textsOf(messages), enough), SHARE_OF_CHUNK, maxSummaryTokens)
  const touched = actions
    .filter((action) => action.effect === 'write')
    .flatMap(({ file }) => (file === undefined ? [] : [file]))
  const named = units.filter((unit) => unit.kind === 'speech').flatMap((unit) => collectIdentifiers(unit.text).files)
  return {
    text: nonEmpty(pick(units, [...touched, ...named], maxTokens), inventory(messages), maxTokens),
    sections: await sectionsOfChunk(units, actions, messages.length, maxSummaryTokens),
  }
}

function extractSummaries(summaries: readonly SummaryToFold[], maxSummaryTokens: number): Extract {
  const enough = Math.ceil(maxSummaryTokens / SHARE_OF_SUMMARIES)
  const texts = summaries.map((summary) => summary.text)
  const maxTokens = budget(tokensUpTo(texts, enough), SHARE_OF_SUMMARIES, maxSummaryTokens)
  const files = summaries.flatMap((summary) => collectIdentifiers(summary.text).files)
  const sections = mergedSections(summaries, maxSummaryTokens)
  return {
    text: nonEmpty(
      pick(unitsOfSummaries(summaries), files, maxTokens),
      `${String(summaries.length)} summaries without text`,
      maxTokens,
    ),
    ...(sections === undefined ? {} : { sections }),
  }
}

/** The input that determines the answer; ids, tokens and times within a day are not part of it. */
function inputOf(job: SummaryJob, formatterVersion: number): unknown {
  if (job.kind === 'resummarize')
    return {
      kind: job.kind,
      summaries: formatterVersion === 1 ? summariesOfFormatter1(job.summaries) : job.summaries,
    }
  const messages = job.messages.map(
    ({ role, content, name: speaker, toolCalls, toolCallId, attributes, createdAt }) => ({
      role,
      content,
      name: speaker,
      toolCalls,
      toolCallId,
      attributes,
      day: createdAt.slice(0, 10),
    }),
  )
  return { kind: job.kind, messages, existingSummary: job.existingSummary }
}

/** The request of a job, with its hash; `model` selects an earlier version. */
export function prepareExtract(job: SummaryJob, model = EXTRACTIVE_MODEL): PreparedSummary {
  const events = { strategy: name, provider: 'none', model, parameters: { maxSummaryTokens: job.maxSummaryTokens } }
  const formatterVersion = EXTRACTIVE_MODELS[model] ?? EXTRACT_FORMATTER
  const request = inputOf(job, formatterVersion)
  return {
    job,
    ...events,
    prompt: PROMPT,
    formatterVersion,
    request,
    requestHash: hashOf({ ...events, formatterVersion, request }),
  }
}

// The duration is 0: a measured time would make the same input give another event.
async function summarize({ job }: PreparedSummary): Promise<Summary> {
  const extract =
    job.kind === 'chunk'
      ? await extractChunk(job.messages, job.existingSummary, job.maxSummaryTokens)
      : extractSummaries(job.summaries, job.maxSummaryTokens)
  return { ...extract, durationMs: 0 }
}

/** The extractive summarizer. It is always available, and its summary never exceeds the limit. */
export function createExtractiveSummarizer(): Summarizer {
  return {
    strategy: name,
    provider: 'none',
    model: EXTRACTIVE_MODEL,
    windowTokens: WINDOW_TOKENS,
    prepare: (job) => prepareExtract(job),
    summarize: async (prepared) => await summarize(prepared),
  }
}
