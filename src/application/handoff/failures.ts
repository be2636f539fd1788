/** Failures of handoffs and their messages. */
import { count } from '../../domain/text/count.js'
import type { Sentences } from '../../domain/values/failure-sentences.js'

/** The budget has no room for what must travel. */
interface BudgetTooSmall {
  readonly kind: 'BudgetTooSmall'
  readonly budget: number
  /** The least budget for this conversation. */
  readonly needed: number
  readonly rules: number
}

/** There is no writer for this program. */
interface NoSessionWriter {
  readonly kind: 'NoSessionWriter'
  readonly program: string
  readonly programs: readonly string[]
}

/** The target program has no directory in which the session could be written. */
interface NoProgramDirectory {
  readonly kind: 'NoProgramDirectory'
  readonly title: string
  readonly directory: string
  /** Undefined if the directory itself is missing. */
  readonly lacks: string | undefined
}

/** The conversation has no message that could travel. */
interface NothingToHandOver {
  readonly kind: 'NothingToHandOver'
  readonly conversationId: string
}

/** No withdrawn part of the conversation has this message. */
interface NotWithdrawn {
  readonly kind: 'NotWithdrawn'
  readonly messageId: string
  /** Ids of the first messages of all withdrawn parts. */
  readonly roots: readonly string[]
}

/** A conversation that no program recorded has no program to return to. */
interface NoProgram {
  readonly kind: 'NoProgram'
  readonly conversationId: string
}

export type HandoffFailure =
  | BudgetTooSmall
  | NoSessionWriter
  | NoProgramDirectory
  | NothingToHandOver
  | NotWithdrawn
  | NoProgram

/** The messages of these failures. */
export const handoffSentences: Sentences<HandoffFailure> = {
  BudgetTooSmall: ({ budget, needed, rules }) =>
    `a budget of ${count(budget)} tokens has no room for the summary and the ${count(rules)} ${rules === 1 ? 'rule' : 'rules'} that must be handed over: set a budget of at least ${count(needed)}`,
  NoSessionWriter: ({ program, programs }) =>
    `a session cannot be handed over to "${program}"; the programs are ${programs.join(', ')}`,
  NoProgramDirectory: ({ title, directory, lacks }) =>
    lacks ?? `${title} has no directory ${directory}: start ${title} once, or name its directory with --home`,
  NothingToHandOver: ({ conversationId }) => `conversation "${conversationId}" has no message to hand over`,
  NotWithdrawn: ({ messageId, roots }) =>
    `message "${messageId}" is not withdrawn; ${roots.length === 0 ? 'the conversation has no withdrawn messages' : `the withdrawn parts begin with ${roots.join(', ')}`}`,
  NoProgram: ({ conversationId }) =>
    `conversation "${conversationId}" was not recorded by another program: name the program that continues it (to)`,
}
