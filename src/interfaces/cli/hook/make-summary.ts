/**
 * Makes the summary of a session that its program is about to compact: records the session up to now, and summarizes the
 * messages that leave the context from the log.
 */
import { either as E } from 'fp-ts'
import { readFile } from 'node:fs/promises'
import { RecordedSession, summarizeSession, type SessionSummary } from '../../../application/recall/session-summary.js'
import { byRecord } from '../../../application/importers/message-ids.js'
import { isInForce } from '../../../domain/rules/rule.js'
import { resolvePolicy, viewTokens } from '../../../domain/values/policy.js'
import type { Ledger } from '../../../library/ledger.js'
import { rulesIn } from '../config/rules.js'
import type { CompactingSession, SummaryRequest } from './compacting-session.js'

/** One of as many last records must be recorded. Some have no message, such as an answer that was broken off. */
const LAST_RECORDS = 10

/** The most tokens of the summary, and of the sentences of the agent in it, by the policy for the window of the model. */
function limitsFor(windowTokens: number | undefined): { readonly maxTokens: number; readonly maxFacts: number } {
  const policies = [windowTokens === undefined ? {} : { modelMaxTokens: Math.floor(windowTokens) }, {}]
  const policy = policies.map((settings) => resolvePolicy(settings)).find(E.isRight)?.right
  if (policy === undefined) throw new Error('the default policy is not valid')
  return { maxTokens: viewTokens(policy), maxFacts: policy.maxSummaryTokens }
}

/** The rules of the file, and the rules in force of this session and of others in its project. */
async function rulesFor(
  { rules }: Ledger,
  conversationId: string,
  { project, hasJudgedRules }: RecordedSession,
  rulesFile: string | undefined,
): Promise<string[]> {
  const ofFile = rulesFile === undefined ? [] : rulesIn(await readFile(rulesFile, 'utf8'))
  const ownRules = hasJudgedRules ? [await rules.list(conversationId)] : []
  const projectRules = project === undefined ? [] : await rules.confirmed({ project })
  const inForce = [...ownRules, ...projectRules].flatMap((list) => list.rules.filter(isInForce))
  return [...ofFile, ...inForce.map(({ text }) => text)]
}

/** The conversation of a session, recorded up to now if this process may write. */
async function recorded(ledger: Ledger, session: CompactingSession, mayWrite: boolean): Promise<string> {
  const id = `${session.agent}/${session.sessionId}`
  if (!mayWrite) return id
  const { conversations } = await ledger.transcripts.import(session.transcript, { from: session.agent })
  const ids = conversations.map(({ conversationId }) => conversationId)
  return ids.find((each) => each === id) ?? ids[0] ?? id
}

/** A summary for a program, or why there is none. */
export type SummaryAnswer = SessionSummary & { readonly conversationId: string }

/** Records the session, and makes the summary. With a ledger that only reads, another process records the session. */
export async function makeSummary(
  ledger: Ledger,
  { summarize: session, rulesFile }: SummaryRequest,
  mayWrite = true,
): Promise<SummaryAnswer> {
  const conversationId = await recorded(ledger, session, mayWrite)
  const found = new RecordedSession()
  for await (const event of ledger.log(conversationId)) found.take(event)
  const ids = byRecord(found.messages.keys())
  const { records, windowTokens } = session
  if (!records.slice(-LAST_RECORDS).some((record) => ids.has(record)))
    return { kind: 'none', reason: 'the session is not recorded up to its end', conversationId }
  const summary = await summarizeSession(found, {
    messageIds: records.flatMap((record) => ids.get(record) ?? []),
    rules: await rulesFor(ledger, conversationId, found, rulesFile),
    ...limitsFor(windowTokens),
  })
  return { ...summary, conversationId }
}
