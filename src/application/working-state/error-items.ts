/**
 * The errors of calls, each with the agent's explanation and the attempt that worked. An error of a tool that the
 * agent corrected with its next attempt teaches nothing, and is no item.
 */
import { hasCue } from '../../domain/text/cues.js'
import { quote } from '../../domain/text/quote.js'
import { isSpoken, spokenSentences } from '../../domain/text/speech.js'
import { nameOf } from '../../domain/tools/call-query.js'
import type { StateEditor } from '../../domain/conversation/state-editor.js'
import type { Failure } from '../loss-report/failures.js'
import type { ReportMessage } from '../loss-report/report-input.js'
import { tellingTerms } from '../loss-report/stretches.js'
import { isEdit, type Work } from '../loss-report/tool-calls.js'
import { announces } from './announcements.js'
import { withoutFolder } from './command-text.js'

/** An error that nothing has resolved yet. */
export const OPEN_ERROR = 55
/** An error of which the agent found the cause, or something that works. */
const EXPLAINED_ERROR = 48
const SOLVED_ERROR = 20

const MOST_COMMAND = 90
const MOST_ERROR = 160
const MOST_EXPLANATION = 220
const MOST_FIX = 140
const MOST_FILES = 3

/** The explanation follows within as many messages of the agent, and the next attempt within as many calls. */
const MESSAGES_AFTER = 4
const CALLS_AFTER = 8
const LEAST_TERMS = 3

/** The explanation that the agent gave directly after a failure. */
function explanationOf({ work, text }: Failure, messages: readonly ReportMessage[]): string | undefined {
  const from = messages.findIndex(({ messageId }) => messageId === work.result?.messageId) + 1
  if (from === 0) return undefined
  const until = messages.findIndex(({ role, byProgram }, at) => at >= from && role === 'user' && byProgram !== true)
  const next = messages
    .slice(from, until === -1 ? undefined : until)
    .filter(({ role, byProgram }) => role === 'assistant' && byProgram !== true)
    .slice(0, MESSAGES_AFTER)
  const terms = new Set(tellingTerms(text))
  const explains = (sentence: string): boolean => {
    const found = tellingTerms(sentence)
    if (!isSpoken(sentence) || announces(sentence) || found.length < LEAST_TERMS || /[?？]\s*$/u.test(sentence))
      return false
    return hasCue(sentence, 'reason') || hasCue(sentence, 'error') || found.filter((term) => terms.has(term)).length > 1
  }
  return next.flatMap(({ ownText }) => spokenSentences(ownText.slice(0, 4_000))).find(explains)
}

const wordsIn = (command: string): ReadonlySet<string> =>
  new Set(withoutFolder(command).match(/[\p{L}\p{N}_./=-]{2,}/gu) ?? [])

/** The program of a command and what it does, as `npm run build`: its first plain words. */
const actionOf = (words: ReadonlySet<string>): readonly string[] =>
  [...words].filter((word) => /^\p{L}[\p{L}\p{N}-]+$/u.test(word)).slice(0, 3)

/** Whether a command is another attempt at the same: it does the same, and more than half of its words are the same. */
function isVariant(later: Work, failed: Work): boolean {
  if (later.query.use !== 'shell' || failed.query.use !== 'shell' || later.query.key === failed.query.key) return false
  const [a, b] = [wordsIn(later.query.subject), wordsIn(failed.query.subject)]
  if (!actionOf(b).every((word) => a.has(word))) return false
  return [...a].filter((word) => b.has(word)).length * 2 > Math.max(a.size, b.size)
}

/** The attempt that worked after a failure: another form of the command, or the same one after changes of files. */
function fixOf(failure: Failure, works: readonly Work[], failed: ReadonlySet<Work>): string | undefined {
  const { work, resolvedBy } = failure
  const at = works.indexOf(work)
  if (resolvedBy === undefined) {
    const variant = works
      .slice(at + 1, at + 1 + CALLS_AFTER)
      .find((later) => isVariant(later, work) && later.result !== undefined && !failed.has(later))
    return variant === undefined ? undefined : `worked: ${quote(withoutFolder(variant.query.subject), MOST_FIX)}`
  }
  const files = new Set(
    works
      .slice(at + 1, works.indexOf(resolvedBy))
      .filter(isEdit)
      .flatMap(({ query }) => query.files.map(nameOf)),
  )
  return files.size === 0 ? 'worked later' : `worked after a change of ${[...files].slice(-MOST_FILES).join(', ')}`
}

/** A failed read or search of a file, and a failed change that the agent repeated correctly. */
const isSlip = ({ work: { query }, resolvedBy }: Failure): boolean =>
  query.use === 'read' || query.use === 'search' || (query.use !== 'shell' && resolvedBy !== undefined)

const weightOf = ({ resolvedBy }: Failure, isExplained: boolean, hasFix: boolean): number => {
  if (resolvedBy === undefined && !hasFix) return OPEN_ERROR
  return isExplained || hasFix ? EXPLAINED_ERROR : SOLVED_ERROR
}

/** Errors, each with the attempt that resolved it. An earlier error is closed once the same call works. */
export function updateErrors(
  editor: StateEditor,
  messages: readonly ReportMessage[],
  works: readonly Work[],
  failures: readonly Failure[],
): void {
  const failed = new Set(failures.map(({ work }) => work))
  for (const item of editor.ofKind('error')) {
    const solved = works.find((work) => work.query.key === item.about && work.result !== undefined && !failed.has(work))
    if (solved !== undefined) editor.close(item, solved.by.revision)
  }
  const listed = new Set(editor.ofKind('error').map(({ text }) => text))
  for (const failure of failures) {
    if (isSlip(failure)) continue
    const { work, text } = failure
    const explanation = explanationOf(failure, messages)
    const fix = fixOf(failure, works, failed)
    const error = `${quote(withoutFolder(work.query.subject), MOST_COMMAND)}: ${quote(text, MOST_ERROR)}`
    const arrow = fix === undefined ? '' : ` → ${fix}`
    const words = `${error}${explanation === undefined ? '' : ` — ${quote(explanation, MOST_EXPLANATION)}`}${arrow}`
    if (listed.has(words)) continue
    listed.add(words)
    const { revision, at } = work.result ?? work.by
    editor.add({
      kind: 'error',
      by: 'tool',
      text: words,
      ...(explanation === undefined ? {} : { brief: `${error}${arrow}` }),
      weight: weightOf(failure, explanation !== undefined, fix !== undefined && fix !== 'worked later'),
      about: work.query.key,
      sourceRevisions: [revision],
      ...(at === undefined ? {} : { day: at.slice(0, 10) }),
    })
  }
}
