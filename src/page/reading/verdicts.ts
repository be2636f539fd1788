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

/** The proofs of a ledger. */
export interface Verdicts {
  /** The last proof of a conversation, or of everything; undefined where none was asked for. */
  known(conversationId: string | undefined): Verdict | undefined
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
export function createVerdicts(ledger: Pick<Ledger, 'verify' | 'messages'>, now: () => Date): Verdicts {
  const verdicts = new Map<string, Verdict>()
  const running = new Map<string, Promise<void>>()

  async function run(conversationId: string | undefined): Promise<void> {
    const key = conversationId ?? ALL
    verdicts.set(key, BEGUN)
    let begun = BEGUN
    try {
      if (conversationId !== undefined) begun = { ...BEGUN, revision: (await ledger.messages(conversationId)).revision }
      const verification = await ledger.verify(conversationId, {
        onProgress: ({ events, conversations }) => {
          verdicts.set(key, { ...begun, events, conversations })
        },
      })
      const { events, conversations } = verification
      verdicts.set(key, { ...begun, state: 'done', events, conversations, verification, at: now().toISOString() })
    } catch (error) {
      verdicts.set(key, { ...begun, state: 'refused', refusal: faultOf(error).message, at: now().toISOString() })
    }
  }

  return {
    known: (conversationId) => verdicts.get(conversationId ?? ALL),
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
