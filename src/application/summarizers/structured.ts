/**
 * The strategy that keeps one document for the conversation: it asks for the changes of the working state as JSON, and
 * checks each of them. The summary is the rendering of the changes, in named sections. Summaries that become one have
 * sections alone. An answer in prose or with sections is accepted as such, so that no second call is needed; the working
 * state is then changed by rules.
 */
import type { RejectedOperation, Sections, StateItem, StateOperation } from '../../domain/events/index.js'
import { NO_SECTIONS, NO_STATE } from '../../domain/events/index.js'
import { documentText, documentTokens } from '../../domain/conversation/working-state-document.js'
import { wordsOf } from '../../domain/conversation/working-state-view.js'
import { defaultEstimator } from '../../domain/values/tokens.js'
import type { Summarizer, SummaryJob } from '../../ports/summarizer.js'
import type { ReadAnswer } from './accept-answer.js'
import { checkedOperations } from './checked-operations.js'
import { cleanAnswer } from './clean-answer.js'
import { createModelSummarizer, type ModelStrategy, type ModelStrategyOptions } from './model-strategy.js'
import { structuredPrompt, structuredResummarizePrompt } from './prompts.js'
import { OPERATIONS_FORM, OPERATIONS_SCHEMA, readProposal } from './proposed-operations.js'
import { readSections } from './read-sections.js'
import { renderSections } from './render-sections.js'
import { SECTIONS_FORM, SECTIONS_SCHEMA } from './sections-form.js'
import { shortenSections, shortenText } from './shorten-summary.js'

type ChunkJob = Extract<SummaryJob, { kind: 'chunk' }>

const SECTION_OF: Readonly<Record<StateItem['kind'], Exclude<keyof Sections, 'completedWork'> | undefined>> = {
  rule: 'constraints',
  statement: 'requests',
  open: 'openItems',
  progress: 'currentState',
  decision: 'decisions',
  value: 'facts',
  fact: 'facts',
  error: 'errors',
  result: undefined,
  file: undefined,
}

/** The changes as sections of a summary. */
function sectionsOf(operations: readonly StateOperation[], before: readonly StateItem[]): Sections {
  const sections = structuredClone(NO_SECTIONS)
  const known = new Map(before.map((item) => [item.id, item]))
  const add = (item: StateItem): void => {
    const section = SECTION_OF[item.kind]
    if (section === undefined) sections.completedWork.push({ file: '', action: '', description: wordsOf(item, false) })
    else sections[section].push(wordsOf(item, false))
    known.set(item.id, item)
  }
  for (const operation of operations) {
    if (operation.op === 'add') add(operation.item)
    else if (operation.op === 'replace') {
      const item = known.get(operation.id)
      if (item !== undefined) add({ ...item, ...operation })
    } else if (operation.op === 'close') {
      const item = known.get(operation.id)
      if (item !== undefined) sections[item.kind === 'open' ? 'closedItems' : 'superseded'].push(item.text)
    }
  }
  return sections
}

/** The changes of the document, as far as their text is within the limit. */
interface Changes {
  readonly text: string
  readonly sections: Sections
  readonly operations: readonly StateOperation[]
  readonly rejected: readonly RejectedOperation[]
}

/** In a small window each answer is short. */
const LEAST_DOUBLED = 256
/** The share of the model's window that a longer answer may take, in texts. */
const SHARE_OF_WINDOW = 0.1

/** Tokens of the texts of an answer: while the document is small, twice those of a summary, if the window is large. */
function answerTokens(job: SummaryJob, windowTokens = Infinity): number {
  const { maxSummaryTokens } = job
  if (maxSummaryTokens < LEAST_DOUBLED) return maxSummaryTokens
  const document =
    job.kind === 'chunk' && job.workingState !== undefined ? documentText(job.workingState, Infinity) : ''
  const free = documentTokens(maxSummaryTokens) - defaultEstimator.text(document)
  const most = Math.min(2 * maxSummaryTokens, Math.floor(free / 2), Math.floor(windowTokens * SHARE_OF_WINDOW))
  return Math.max(maxSummaryTokens, most)
}

/** The items of an answer may take this multiple of the requested tokens: a view chooses among all of them. */
const MOST_ABOVE = 2

const lineTokens = (item: StateItem): number => defaultEstimator.text(`- ${wordsOf(item, false)}\n`)

/** The tokens by which changes of items make the document larger. */
function growth(operations: readonly StateOperation[], before: readonly StateItem[]): number {
  const known = new Map(before.map((item) => [item.id, item]))
  return operations.reduce((sum, operation) => {
    if (operation.op === 'add') return sum + lineTokens(operation.item)
    const item = operation.op === 'replace' ? known.get(operation.id) : undefined
    if (item === undefined || operation.op !== 'replace') return sum
    return sum + Math.max(0, lineTokens({ ...item, ...operation }) - lineTokens(item))
  }, 0)
}

/** Whether an operation is about a new item that may be left out: the words of the user and the state of the work stay. */
const mayBeLeftOut = (operation: StateOperation): operation is Extract<StateOperation, { op: 'add' }> =>
  operation.op === 'add' && operation.item.by !== 'user' && operation.item.kind !== 'progress'

/** Leaves out the least important new items above the limit. */
function withinLimit(operations: readonly StateOperation[], before: readonly StateItem[], maxTokens: number): Changes {
  const items = operations
    .filter(mayBeLeftOut)
    .map(({ item }) => item)
    .toSorted((a, b) => b.weight - a.weight)
  let left =
    maxTokens -
    growth(
      operations.filter((operation) => !mayBeLeftOut(operation)),
      before,
    )
  const above = new Set<string>()
  const rejected: RejectedOperation[] = []
  for (const item of items) {
    const tokens = lineTokens(item)
    if (tokens <= left) left -= tokens
    else {
      above.add(item.id)
      rejected.push({ operation: JSON.stringify(item.text), reason: 'the changes are above the limit of a summary' })
    }
  }
  const fitting = operations.filter(
    (operation) =>
      !(operation.op === 'add' && above.has(operation.item.id)) &&
      !(operation.op === 'correct' && above.has(operation.by)),
  )
  const sections = sectionsOf(fitting, before)
  return { sections, text: renderSections(sections), operations: fitting, rejected }
}

function readOperations(cleaned: string, job: ChunkJob): ReadAnswer | undefined {
  const proposal = readProposal(cleaned)
  if (proposal === undefined) return undefined
  const { items } = job.workingState ?? NO_STATE
  const checked = checkedOperations(proposal, job.messages, job.workingState)
  // An answer of which nothing can be applied is no record of the messages.
  if (checked.operations.length === 0) return { text: '' }
  const changes = withinLimit(checked.operations, items, answerTokens(job) * MOST_ABOVE)
  const rejected = [...checked.rejected, ...changes.rejected]
  const shortened = shortenSections(changes.sections, job.maxSummaryTokens) ?? {
    text: shortenText(changes.text, job.maxSummaryTokens),
    sections: undefined,
  }
  return {
    text: shortened.text,
    ...(shortened.sections === undefined ? {} : { sections: shortened.sections }),
    operations: changes.operations,
    ...(rejected.length === 0 ? {} : { rejectedOperations: rejected }),
  }
}

function read(answer: string, job: SummaryJob): ReadAnswer {
  const cleaned = cleanAnswer(answer)
  const changes = job.kind === 'chunk' ? readOperations(cleaned, job) : undefined
  if (changes !== undefined) return changes
  const sections = readSections(cleaned)
  return sections === undefined ? { text: cleaned, asPlainText: true } : { text: renderSections(sections), sections }
}

const FORM_OF_SECTIONS = { system: SECTIONS_FORM, responseSchema: SECTIONS_SCHEMA, answerName: 'record' }

/** The requests of the strategy, and how an answer is read. */
export const structured: ModelStrategy<'structured'> = {
  name: 'structured',
  prompts: { chunk: structuredPrompt, resummarize: structuredResummarizePrompt },
  forms: {
    chunk: {
      system: OPERATIONS_FORM,
      responseSchema: OPERATIONS_SCHEMA,
      answerName: 'record',
      outputShare: 2.5,
      answerTokens,
    },
    resummarize: FORM_OF_SECTIONS,
  },
  read,
}

/** Its requests up to version 3 of the formatter: sections, for messages too. */
export const structuredForms3: ModelStrategy['forms'] = { chunk: FORM_OF_SECTIONS, resummarize: FORM_OF_SECTIONS }

/** A summarizer that gives changes of the working state with its text. */
export const createStructuredSummarizer = (options: ModelStrategyOptions): Summarizer =>
  createModelSummarizer(structured, options)
