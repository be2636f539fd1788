/**
 * What `verify` said, as far as this page was asked to prove it. A proof of a long conversation takes seconds: it goes
 * on when nobody waits for it any more, and the page says how far it is.
 */
import type { Ledger, Verification } from '../../library/ledger.js'
import { faultOf } from '../../library/problem.js'

/** A proof: under way, done, or refused. */
export interface Verdict {
  readonly state: 'running' | 'done' | 'refused'
  /** Facts that were looked at so far. */
  readonly events: number
  readonly conversations: number
  readonly verification: Verification | undefined
  /** Why there is no proof. */
  readonly refusal: string | undefined
  /** When it ended, ISO 8601. */
  readonly at: string | undefined
  /** Revision of the conversation's last fact when it began. */
  readonly revision: bigint | undefined
}

/** What the newest proof that has ended says of one conversation. */
export interface ToldVerdict {
  /** Why there is no proof. */
  readonly refusal: string | undefined
  readonly problems: number
  /** When it ended, ISO 8601. */
  readonly at: string
  /** Revision of the last fact that was there when it began. */
  readonly revision: bigint
}

/** What is known of a conversation: only of one that somebody had proved on this page. */
export const STANDINGS = ['verified', 'not-verified', 'never'] as const
export type Standing = (typeof STANDINGS)[number]

/** Where a conversation stands: a proof that found something, was refused or is older than the last fact proves it not. */
export const standingOf = (told: ToldVerdict | undefined, head: bigint): Standing =>
  told === undefined
    ? 'never'
    : told.refusal === undefined && told.problems === 0 && told.revision >= head
      ? 'verified'
      : 'not-verified'

/** The proofs of a ledger. */
export interface Verdicts {
  /** The last proof of a conversation, or of everything; undefined where none was asked for. */
  known(conversationId: string | undefined): Verdict | undefined
  /** What is known of a conversation, by a proof of its own or by one of everything: the newer one. */
  told(conversationId: string): ToldVerdict | undefined
  /** Proves anew, unless that is under way; resolves when it is done, or after so many milliseconds. */
  prove(conversationId: string | undefined, waitMs: number): Promise<Verdict>
}

const ALL = ''

const BEGUN: Verdict = {
  state: 'running',
  events: 0,
  conversations: 0,
  verification: undefined,
  refusal: undefined,
  at: undefined,
  revision: undefined,
}

/** Builds the proofs; `now` tells the time. */
export function createVerdicts(ledger: Pick<Ledger, 'verify' | 'messages' | 'list'>, now: () => Date): Verdicts {
  const verdicts = new Map<string, Verdict>()
  const running = new Map<string, Promise<void>>()
  /** By conversation; a proof of everything tells of each. */
  const told = new Map<string, ToldVerdict>()

  async function run(conversationId: string | undefined): Promise<void> {
    const key = conversationId ?? ALL
    verdicts.set(key, BEGUN)
    let begun = BEGUN
    const heads = new Map<string, bigint>()
    const tell = (refusal: string | undefined, problems: Verification['problems']): void => {
      const at = now().toISOString()
      for (const [id, revision] of heads) {
        const own = problems.filter((problem) => conversationId !== undefined || problem.conversationId === id)
        told.set(id, { refusal, problems: own.length, at, revision })
      }
    }
    try {
      if (conversationId === undefined)
        for (const row of (await ledger.list()).conversations) heads.set(row.conversationId, row.revision)
      else {
        const { revision } = await ledger.messages(conversationId)
        heads.set(conversationId, revision)
        begun = { ...BEGUN, revision }
      }
      const verification = await ledger.verify(conversationId, {
        onProgress: ({ events, conversations }) => {
          verdicts.set(key, { ...begun, events, conversations })
        },
      })
      const { events, conversations, problems } = verification
      tell(undefined, problems)
      verdicts.set(key, { ...begun, state: 'done', events, conversations, verification, at: now().toISOString() })
    } catch (error) {
      const refusal = faultOf(error).message
      tell(refusal, [])
      verdicts.set(key, { ...begun, state: 'refused', refusal, at: now().toISOString() })
    }
  }

  return {
    known: (conversationId) => verdicts.get(conversationId ?? ALL),
    told: (conversationId) => told.get(conversationId),
    async prove(conversationId, waitMs) {
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
      return verdicts.get(key) ?? BEGUN
    },
  }
}
