/**
 * How some messages change the working state, by rules and without a model: the words of the user with their
 * corrections, the state of the work, and sentences of the agent. The same messages give the same operations on any machine.
 */
import { byImportance, groupLine } from '../../domain/conversation/working-state-view.js'
import { groupsOf, isEnded, newestSource, type ItemGroup } from '../../domain/conversation/working-state.js'
import { NO_STATE, type StateItem, type StateOperation, type WorkingState } from '../../domain/events/index.js'
import { declines } from '../../domain/text/refusals.js'
import { defaultEstimator } from '../../domain/values/tokens.js'
import { isPauseDue, pause } from '../../lib/pauses.js'
import type { MessageToSummarize } from '../../ports/summarizer.js'
import { toReportMessage } from '../loss-report/compaction-reports.js'
import type { ReportMessage } from '../loss-report/report-input.js'
import { worksOf } from '../loss-report/tool-calls.js'
import { addAgentItems } from './agent-items.js'
import { addSummaryItems } from './summary-items.js'
import { Corrections } from './corrections.js'
import { StateEditor, type NewItem } from '../../domain/conversation/state-editor.js'
import { CORRECTION, RULE, statementsIn, VALUE } from './statements.js'
import { updateDocuments } from './document-items.js'
import { ResultLines } from './result-lines.js'
import { updateStep, updateWork } from './work-items.js'

/** Version of the rules, recorded with the operations that they made. */
export const STATE_RULES = 'rules-2'

/** A message with its revision and its tokens. */
export type StateMessage = MessageToSummarize & { readonly revision: number; readonly tokens: number }

/** A longer statement has a document, whose sentences have words in common with many statements. */
const MOST_OF_CORRECTION = 480

/** Adds a statement, linked to the one that it corrects. */
function addStatement(editor: StateEditor, statement: NewItem, corrections: Corrections): void {
  if (statement.text.length > MOST_OF_CORRECTION) {
    editor.add(statement)
    return
  }
  const corrected = corrections.correctedBy(
    statement.text,
    editor.groups.filter((group) => group[0]?.kind === 'statement' || group[0]?.kind === 'rule'),
    statement.sourceRevisions[0],
  )
  if (corrected === undefined) {
    editor.add(statement)
    return
  }
  const [first] = corrected
  const weight = Math.max(statement.weight, CORRECTION, ...corrected.map((item) => item.weight))
  const added = editor.add({ ...statement, weight })
  if (first !== undefined) editor.correct(first, added)
}

/** Closes decisions of the agent that the user declined in the next message. */
function closeDeclined(editor: StateEditor, messages: readonly ReportMessage[]): void {
  for (const [at, message] of messages.entries()) {
    const before = messages[at - 1]
    if (message.role !== 'user' || message.byProgram === true || before?.role !== 'assistant') continue
    if (!declines(message.ownText)) continue
    const declined = editor.state.items.filter(
      (item) => !isEnded(item) && item.by === 'agent' && item.sourceRevisions.includes(before.revision),
    )
    for (const item of declined) if (item.kind !== 'open') editor.close(item, message.revision)
  }
}

const tokensOf = (items: readonly StateItem[]): number => defaultEstimator.text(`${groupLine(items)}\n`)

/** Drops the least important of some groups above a limit. */
function dropAbove(editor: StateEditor, groups: readonly ItemGroup[], maxTokens: number): void {
  let left = maxTokens
  for (const group of byImportance(groups)) {
    left -= tokensOf(group)
    if (left < 0) for (const item of group) editor.drop(item)
  }
}

/** Sentences of an agent take at most this share: they help less than the words of the user. */
const SHARE_OF_FACTS = 0.2
/** Sentences of a model's summaries take at most this share. */
const SHARE_OF_SUMMARIES = 0.6

/** Limits in tokens, and the text that is known already. */
export interface OperationOptions {
  /** The most that the items may take. */
  readonly maxTokens: number
  /** The most that sentences of the agent from these messages may take. */
  readonly maxFacts: number
  /** The summary of the previous chunk. */
  readonly background?: string | undefined
  /** A summary of these messages by a model: its sentences are the facts. */
  readonly summary?: string | undefined
}

/**
 * The operations for some messages.
 * @param before the working state before them
 */
export async function operationsFor(
  before: WorkingState,
  messages: readonly StateMessage[],
  { maxTokens, maxFacts, background, summary }: OperationOptions,
): Promise<readonly StateOperation[]> {
  const editor = new StateEditor(before)
  const corrections = new Corrections()
  const reported = messages.map((message) => toReportMessage(message))
  const works = worksOf(reported)
  const names = new Map(
    messages.flatMap(({ messageId, role, name }) =>
      role === 'user' && name !== undefined ? [[messageId, name] as const] : [],
    ),
  )
  const isDialogue = works.length === 0 && names.size > 0
  for (const statement of statementsIn(reported, works, names)) {
    if (isPauseDue()) await pause()
    // In a dialogue few sentences bind; facts are found by their words.
    if (!isDialogue || statement.weight >= RULE) addStatement(editor, statement, corrections)
  }
  updateWork(editor, reported, works)
  updateStep(editor, reported)
  updateDocuments(editor, works, new ResultLines(works))
  if (summary !== undefined) addSummaryItems(editor, reported, summary)
  else await addAgentItems(editor, messages, reported, { maxTokens: maxFacts, isDialogue, background })
  closeDeclined(editor, reported)
  const facts = groupsOf(editor.state).filter(([first]) => first?.kind === 'fact')
  if (summary !== undefined) dropAbove(editor, facts, maxTokens * SHARE_OF_SUMMARIES)
  else if (!isDialogue) dropAbove(editor, facts, maxTokens * SHARE_OF_FACTS)
  dropAbove(editor, groupsOf(editor.state), maxTokens)
  return editor.operations
}

/** A statement of the user with less weight is only kept if the model keeps it. */
const LEAST_KEPT = VALUE

/**
 * The operations of a model for some messages, completed: each weighty message of the user is an item
 * or a source of one, and an item that a later message of the user corrects is linked to it.
 * @param before the working state before the messages
 * @param maxTokens the most that the items may take
 */
export function completedOperations(
  before: WorkingState,
  messages: readonly StateMessage[],
  operations: readonly StateOperation[],
  maxTokens: number,
): readonly StateOperation[] {
  const editor = new StateEditor(before)
  const corrections = new Corrections()
  const reported = messages.map((message) => toReportMessage(message))
  const byUser = new Set(
    reported.flatMap(({ role, byProgram, revision }) => (role === 'user' && byProgram !== true ? [revision] : [])),
  )
  for (const operation of operations) {
    const earlier = editor.groups
    editor.apply(operation)
    if (operation.op === 'add' && operation.item.sourceRevisions.some((revision) => byUser.has(revision)))
      linkCorrected(editor, operation.item, earlier, corrections)
  }
  const covered = new Set(editor.state.items.flatMap(({ sourceRevisions }) => sourceRevisions))
  const works = worksOf(reported)
  const isDialogue = works.length === 0 && messages.some(({ role, name }) => role === 'user' && name !== undefined)
  for (const statement of statementsIn(reported, works, new Map()))
    if (
      statement.weight >= (isDialogue ? RULE : LEAST_KEPT) &&
      !statement.sourceRevisions.some((revision) => covered.has(revision))
    )
      addStatement(editor, statement, corrections)
  dropAbove(editor, groupsOf(editor.state), maxTokens)
  return editor.operations
}

/** The kinds of items that words of the user correct. */
const CORRECTABLE: ReadonlySet<StateItem['kind']> = new Set(['rule', 'statement', 'value', 'decision'])

/** Links an item of a model to the earlier one that it corrects, unless the model did. */
function linkCorrected(
  editor: StateEditor,
  item: StateItem,
  earlier: readonly ItemGroup[],
  corrections: Corrections,
): void {
  if (!CORRECTABLE.has(item.kind)) return
  const corrected = corrections.correctedBy(
    item.text,
    earlier.filter(([first]) => first !== undefined && CORRECTABLE.has(first.kind)),
    newestSource(item),
  )
  const [first] = corrected ?? []
  if (first !== undefined && editor.state.items.some(({ id, corrects }) => id === item.id && corrects === undefined))
    editor.correct(first, item)
}

/** The state of the work after all messages of a conversation, by rules, without the words of the user. */
export function workByRules(messages: readonly ReportMessage[]): WorkingState {
  const editor = new StateEditor(NO_STATE)
  updateWork(editor, messages, worksOf(messages))
  return editor.state
}
