/**
 * Runs `verify` for the page and stores the results of this session. A verification of a long conversation takes
 * seconds: it continues after its request ends, and the page shows its progress.
 */
import type { Ledger, Verification } from '../../../library/ledger.js'
import { faultOf } from '../../../library/problem.js'

/** A verification: running, done, or refused. */
export interface Verdict {
  readonly state: 'running' | 'done' | 'refused'
  /** Events verified so far. */
  readonly events: number
  readonly conversations: number
  readonly verification: Verification | undefined
  /** Why the verification could not run. */
  readonly refusal: string | undefined
  /** End time, ISO 8601. */
  readonly at: string | undefined
  /** Head revision of the conversation at the start. */
  readonly revision: number | undefined
}

/** The newest result for one conversation. */
export interface VerdictSummary {
  /** Why the verification could not run. */
  readonly refusal: string | undefined
  readonly problems: number
  /** End time, ISO 8601. */
  readonly at: string
  /** Head revision at the start. */
  readonly revision: number
}

/** Verification status of a conversation in this session. */
export const VERIFY_STATUSES = ['verified', 'not-verified', 'never'] as const
export type VerifyStatus = (typeof VERIFY_STATUSES)[number]

/** A result with problems, a refused run, or a result older than the last event counts as not verified. */
export const verifyStatusOf = (latest: VerdictSummary | undefined, head: number): VerifyStatus =>
  latest === undefined
    ? 'never'
    : latest.refusal === undefined && latest.problems === 0 && latest.revision >= head
      ? 'verified'
      : 'not-verified'

/** The verifications of a ledger. */
export interface Verdicts {
  /** The last verification of a conversation, or of the whole ledger; undefined if there was none. */
  known(conversationId: string | undefined): Verdict | undefined
  /** The newest result for a conversation, from its own verification or from one of the whole ledger. */
  latest(conversationId: string): VerdictSummary | undefined
  /** Starts a verification unless one is running. Resolves when it ends, or after `waitMs`. */
  verify(conversationId: string | undefined, waitMs: number): Promise<Verdict>
}

const ALL = ''

const STARTED: Verdict = {
  state: 'running',
  events: 0,
  conversations: 0,
  verification: undefined,
  refusal: undefined,
  at: undefined,
  revision: undefined,
}

/** The part of the ledger that verification uses. */
type VerifiedLedger = Pick<Ledger, 'messages' | 'list'> & { readonly admin: Pick<Ledger['admin'], 'verify'> }

/** Creates the verifications; `now` is the clock. */
export function createVerdicts(ledger: VerifiedLedger, now: () => Date): Verdicts {
  const verdicts = new Map<string, Verdict>()
  const running = new Map<string, Promise<void>>()
  /** By conversation. A verification of the whole ledger has a result for each. */
  const latest = new Map<string, VerdictSummary>()

  async function run(conversationId: string | undefined): Promise<void> {
    const key = conversationId ?? ALL
    verdicts.set(key, STARTED)
    let started = STARTED
    const heads = new Map<string, number>()
    const store = (refusal: string | undefined, problems: Verification['problems']): void => {
      const at = now().toISOString()
      for (const [id, revision] of heads) {
        const conversationProblems = problems.filter(
          (problem) => conversationId !== undefined || problem.conversationId === id,
        )
        latest.set(id, { refusal, problems: conversationProblems.length, at, revision })
      }
    }
    try {
      if (conversationId === undefined)
        for (const row of (await ledger.list()).conversations) heads.set(row.conversationId, row.revision)
      else {
        const { revision } = await ledger.messages(conversationId)
        heads.set(conversationId, revision)
        started = { ...STARTED, revision }
      }
      const verification = await ledger.admin.verify(conversationId, {
        onProgress: ({ events, conversations }) => {
          verdicts.set(key, { ...started, events, conversations })
        },
      })
      const { events, conversations, problems } = verification
      store(undefined, problems)
      verdicts.set(key, { ...started, state: 'done', events, conversations, verification, at: now().toISOString() })
    } catch (error) {
      const refusal = faultOf(error).message
      store(refusal, [])
      verdicts.set(key, { ...started, state: 'refused', refusal, at: now().toISOString() })
    }
  }

  return {
    known: (conversationId) => verdicts.get(conversationId ?? ALL),
    latest: (conversationId) => latest.get(conversationId),
    async verify(conversationId, waitMs) {
      const key = conversationId ?? ALL
      const work =
        running.get(key) ??
        run(conversationId).finally(() => {
          running.delete(key)
        })
      running.set(key, work)
      let timer: NodeJS.Timeout | undefined
      await Promise.race([
        work,
        new Promise<void>((resolve) => {
          timer = setTimeout(resolve, waitMs)
        }),
      ])
      clearTimeout(timer)
      return verdicts.get(key) ?? STARTED
    },
  }
}
