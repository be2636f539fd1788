/**
 * Counts what agent programs forget, by program and version. Each count is the length of a list of evidence, so that a
 * reader can check it in the session.
 */
import { medianOf } from '../loss-report/recovery.js'
import type { ItemKind } from '../../domain/reports/loss-items.js'
import type { ReportInput } from '../loss-report/report-input.js'
import type { CheckedRule, Presence } from '../../domain/rules/rule.js'
import type { ForgottenCycle } from './cycles.js'
import { isInRepeated, repeatedOnly } from './losses.js'

/** A message: its revision in the conversation, and its words. */
interface Quoted {
  readonly revision: string
  readonly words: string
}

/** A compaction of a session. */
interface MeasuredCompaction {
  /** Revision of the event that completed it. */
  readonly revision: string
  readonly trigger?: string
  /** Text, encrypted for its provider (`opaque`), or none. */
  readonly summary: ReportInput['summary']['kind']
  /** Calls before the next edit; absent if no edit follows before the next compaction. */
  readonly callsToEdit?: number
  /** Repeated calls in the last messages before it and in as many after it. */
  readonly compared: { readonly messages: number; readonly before: number; readonly after: number }
}

/** A rule that the context had before a compaction, and whether the context had it after it. */
interface MeasuredRule {
  readonly rule: string
  readonly words: string
  /** Revision of the compaction. */
  readonly compaction: string
  readonly presence: Presence
  /** The words in the context after it that are nearest to the rule. */
  readonly found?: string
}

/** A call or an answer after a compaction that broke a rule stated before that compaction. */
interface MeasuredBreak extends Quoted {
  readonly rule: string
  readonly ruleWords: string
  readonly tool?: string
  readonly failed?: true
  /** Whether the context had the rule then. */
  readonly presence: Presence
}

/** An item that a compaction lost and the conversation needed again. */
interface MeasuredItem extends Quoted {
  readonly compaction: string
  readonly kind: ItemKind
  /** The message that needed it. */
  readonly neededAt: Quoted
}

/** A call that repeated an earlier one after a compaction removed the earlier answer. */
interface MeasuredRepetition extends Quoted {
  readonly compaction: string
  readonly tool: string
  readonly repeatedAt: string
}

/** A session and everything that is counted in it. */
export interface MeasuredSession {
  readonly conversationId: string
  /** Paths in the measured directory. */
  readonly files: readonly string[]
  readonly compactions: readonly MeasuredCompaction[]
  readonly rules: readonly MeasuredRule[]
  readonly breaks: readonly MeasuredBreak[]
  readonly needed: readonly MeasuredItem[]
  readonly repeated: readonly MeasuredRepetition[]
}

/** The sessions of a version of a program. */
export interface ProgramSessions {
  readonly program: string
  /** As the session states it; `unknown` if it does not. */
  readonly version: string
  readonly sessions: readonly MeasuredSession[]
}

type PresenceCounts = Readonly<Record<Presence, number>>

/** The counts of a version of a program. */
export interface ProgramRow {
  readonly program: string
  readonly version: string
  readonly sessions: number
  readonly compactions: number
  /** Compactions with an encrypted summary, or without one in the session. */
  readonly unreadable: number
  /** Rules that the context had before a compaction, by whether it had them after it. */
  readonly rules: PresenceCounts
  /** Breaks after a compaction, by whether the context had the rule then. */
  readonly broken: PresenceCounts
  readonly needed: number
  readonly repeated: number
  /** Repeated calls in stretches of equal length before and after the compactions. */
  readonly compared: MeasuredCompaction['compared']
  /** Compactions with an edit after them, and the median, the lowest and the highest number of the calls before it. */
  readonly nextEdit: {
    readonly compactions: number
    readonly calls?: number
    readonly lowest?: number
    readonly highest?: number
  }
}

function compactionOf({ revision, keys, report }: ForgottenCycle): MeasuredCompaction {
  const { edit } = report.recovery
  const { messages, before, behind } = report.compared
  return {
    revision: String(revision),
    ...(keys.trigger === undefined ? {} : { trigger: keys.trigger }),
    summary: report.summary.kind,
    ...(edit === undefined ? {} : { callsToEdit: edit.calls }),
    compared: { messages, before: before.calls, after: behind.calls },
  }
}

/** A rule counts once for a loss: at the compaction before which the context still had it. */
function presencesOf(rule: CheckedRule, compactions: ReadonlySet<number>): MeasuredRule[] {
  return rule.presences.flatMap(({ revision, presence, text }, at): MeasuredRule[] => {
    if (!compactions.has(revision) || (rule.presences[at - 1]?.presence ?? 'there') !== 'there') return []
    return [
      {
        rule: rule.id,
        words: rule.text,
        compaction: String(revision),
        presence,
        ...(text === undefined ? {} : { found: text }),
      },
    ]
  })
}

const breaksOf = (rule: CheckedRule, compactions: ReadonlySet<number>): MeasuredBreak[] =>
  rule.breaks
    .filter((each) => rule.presences.some(({ revision }) => compactions.has(revision) && revision < each.revision))
    .map(({ revision, tool, words, failed, context: { presence } }) => ({
      rule: rule.id,
      ruleWords: rule.text,
      revision: String(revision),
      ...(tool === undefined ? {} : { tool }),
      words,
      ...(failed === undefined ? {} : { failed }),
      presence,
    }))

function neededOf({ revision, report }: ForgottenCycle): MeasuredItem[] {
  const repeated = repeatedOnly(report.doneAgain)
  return report.items.flatMap((item): MeasuredItem[] => {
    const { kind, text, verdict, matters, said, neededAt } = item
    if (verdict !== 'lost' || matters !== true || neededAt === undefined || isInRepeated(item, repeated)) return []
    return [
      {
        compaction: String(revision),
        kind,
        revision: said.revision,
        words: text,
        neededAt: { revision: neededAt.revision, words: neededAt.text },
      },
    ]
  })
}

const repeatedOf = ({ revision, report }: ForgottenCycle): MeasuredRepetition[] =>
  repeatedOnly(report.doneAgain).map(({ tool, subject, first, again }) => ({
    compaction: String(revision),
    tool,
    revision: first.revision,
    words: subject,
    repeatedAt: again.revision,
  }))

/**
 * Collects the evidence of a session.
 * @param cycles its compactions
 * @param rules its checked rules
 */
export function measuredSession(
  { conversationId, files }: Pick<MeasuredSession, 'conversationId' | 'files'>,
  cycles: readonly ForgottenCycle[],
  rules: readonly CheckedRule[],
): MeasuredSession {
  const compactions = new Set(cycles.map(({ revision }) => revision))
  return {
    conversationId,
    files,
    compactions: cycles.map(compactionOf),
    rules: rules.flatMap((rule) => presencesOf(rule, compactions)),
    breaks: rules.flatMap((rule) => breaksOf(rule, compactions)),
    needed: cycles.flatMap(neededOf),
    repeated: cycles.flatMap(repeatedOf),
  }
}

function presenceCounts(all: readonly { readonly presence: Presence }[]): PresenceCounts {
  const number = (wanted: Presence): number => all.filter(({ presence }) => presence === wanted).length
  return { there: number('there'), changed: number('changed'), gone: number('gone'), unclear: number('unclear') }
}

function nextEditOf(callsToEdit: readonly number[]): ProgramRow['nextEdit'] {
  const calls = medianOf(callsToEdit)
  const compactions = callsToEdit.length
  return calls === undefined
    ? { compactions }
    : { compactions, calls, lowest: Math.min(...callsToEdit), highest: Math.max(...callsToEdit) }
}

/** The counts of a version of a program. */
export function rowOf({ program, version, sessions }: ProgramSessions): ProgramRow {
  const compactions = sessions.flatMap((session) => session.compactions)
  const toEdit = compactions.flatMap(({ callsToEdit }) => callsToEdit ?? [])
  const sumOf = (field: keyof MeasuredCompaction['compared']): number =>
    compactions.reduce((sum, { compared }) => sum + compared[field], 0)
  return {
    program,
    version,
    sessions: sessions.length,
    compactions: compactions.length,
    unreadable: compactions.filter(({ summary }) => summary === 'opaque').length,
    rules: presenceCounts(sessions.flatMap(({ rules }) => rules)),
    broken: presenceCounts(sessions.flatMap(({ breaks }) => breaks)),
    needed: sessions.flatMap(({ needed }) => needed).length,
    repeated: sessions.flatMap(({ repeated }) => repeated).length,
    compared: { messages: sumOf('messages'), before: sumOf('before'), after: sumOf('after') },
    nextEdit: nextEditOf(toEdit),
  }
}
