/** Compares a call with rules by the messages of its session. The guard loads this only for a call that may break one. */
import { sessionMessages } from './session-messages.js'
import { judgeCall } from '../../../application/rules/judge-call.js'
import type { ReportMessage, ReportToolCall } from '../../../application/loss-report/report-input.js'
import { isCanary } from './canary.js'
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
  // The session of a canary has no messages.
  if (isCanary(sessionId)) return []
  try {
    const messages = transcript === undefined ? undefined : await sessionMessages(transcript, agent, sessionId)
    if (messages === undefined)
      logProblem(folder, agent, `the guard cannot read the session in ${transcript ?? 'no file'}`)
    return messages
  } catch (error) {
    logProblem(folder, agent, error)
    return undefined
  }
}

/** The rules that a call would break. `isSure` is false if the messages of its session are not known. */
export async function secondLook(
  suspected: readonly GuardedRule[],
  session: CallInSession,
): Promise<{ readonly broken: readonly GuardedRule[]; readonly isSure: boolean }> {
  const messages: readonly ReportMessage[] | undefined = await messagesOf(session)
  const isSure = messages !== undefined
  // Whether an earlier command ran is not known: no accusation.
  const judged = isSure
    ? suspected
    : suspected.filter(({ conditions }) => !conditions.some(({ kind }) => kind === 'first'))
  // Rules of two conversations may have the same id.
  const readable = judged.map(({ conditions, text, scope, at }, place) => ({
    rule: {
      id: `guard ${String(place)}`,
      text,
      scope,
      source: 'added' as const,
      standing: 'confirmed' as const,
      since: at === undefined ? {} : { at },
    },
    conditions,
    statedBy: [],
  }))
  const { call, branch, now } = session
  const found = judgeCall(messages ?? [], readable, { call, branch, at: new Date(now()).toISOString() })
  const broken = new Set(found.map(({ rule }) => rule.id))
  return { broken: judged.filter((_rule, place) => broken.has(`guard ${String(place)}`)), isSure }
}
