/** Compares a call with rules by the messages of its session. The guard loads this only for a call that may break one. */
import { sessionMessages } from '../../../application/importers/session-messages.js'
import { judgeCall } from '../../../application/rules/judge-call.js'
import type { ReportMessage, ReportToolCall } from '../../../application/loss-report/report-input.js'
import type { GuardedRule } from './guard-folder.js'
import { logProblem } from './hook-folder.js'

/** A call, with its session. */
export interface CallInSession {
  readonly call: ReportToolCall
  readonly agent: string
  readonly sessionId: string
  readonly transcript: string | undefined
  /** The branch that is checked out. */
  readonly branch: string | undefined
  /** The private directory of hooks. */
  readonly folder: string
  readonly now: () => number
}

/** The messages of the session; undefined if they cannot be read. */
async function messagesOf({ transcript, agent, sessionId, folder }: CallInSession) {
  if (transcript === undefined) return undefined
  try {
    return await sessionMessages(transcript, agent, sessionId)
  } catch (error) {
    logProblem(folder, agent, error)
    return undefined
  }
}

/** The rules that the call would break. */
export async function secondLook(
  suspected: readonly GuardedRule[],
  session: CallInSession,
): Promise<readonly GuardedRule[]> {
  const messages: readonly ReportMessage[] | undefined = await messagesOf(session)
  // Whether an earlier command ran is not known: no accusation.
  const judged =
    messages === undefined
      ? suspected.filter(({ conditions }) => !conditions.some(({ kind }) => kind === 'first'))
      : suspected
  // Rules of two conversations may have the same id.
  const readable = judged.map(({ conditions, text, scope }, place) => ({
    rule: { id: `guard ${String(place)}`, text, scope, source: 'added', standing: 'confirmed', since: {} } as const,
    conditions,
    statedBy: [],
  }))
  const { call, branch, now } = session
  const found = judgeCall(messages ?? [], readable, { call, branch, at: new Date(now()).toISOString() })
  const broken = new Set(found.map(({ rule }) => rule.rule.id))
  return judged.filter((_rule, place) => broken.has(`guard ${String(place)}`))
}
