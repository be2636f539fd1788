/**
 * An operation is done once for each id that its caller gives it, so that a call whose answer was lost can be made again.
 * This process remembers the newest ones with their answers. What changes more if it is done again is found in the log
 * as well, by the correlation id of its fact: by any process, and after a restart.
 */
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { nameSchema } from '../domain/values/ids.js'
import type { RecordedEvent } from '../domain/events/index.js'
import type { Ledger } from '../library/ledger.js'
import { bad } from '../library/options.js'

/** The argument of a tool that records something. */
const operationId = nameSchema
  .max(200)
  .describe('Any text of your own for this one operation: the same again with the same text is done once')

/** What is to be done once. */
interface Operation<T> {
  readonly conversationId: string
  readonly operationId: string
  /** The tool with its other arguments, as a text: another one under the same id is refused. */
  readonly what: string
  /** What the log tells of it; undefined where it was not done. */
  readonly recorded?: (() => Promise<T | undefined>) | undefined
  readonly run: () => Promise<T>
}

export interface Operations {
  /** Does an operation, or gives what it came to when it was done. One that failed may be tried again. */
  once<T>(operation: Operation<T>): Promise<T>
}

const REMEMBERED = 1_000

export function createOperations(): Operations {
  const known = new LRUCache<string, { readonly what: string; readonly answer: Promise<unknown> }>({ max: REMEMBERED })
  return {
    async once<T>({ conversationId, operationId: id, what, recorded, run }: Operation<T>): Promise<T> {
      const key = JSON.stringify([conversationId, id])
      const before = known.get(key)
      if (before !== undefined) {
        if (before.what !== what) throw usedBefore(id, before.what)
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the same tool was asked with the same arguments
        return (await before.answer) as T
      }
      const answer = (async () => (await recorded?.()) ?? (await runUnlessDone(run, recorded)))()
      known.set(key, { what, answer })
      try {
        return await answer
      } catch (error) {
        if (known.get(key)?.answer === answer) known.delete(key)
        throw error
      }
    },
  }
}

/** Does it; where another process did the same meanwhile, and it is refused for that, tells what that came to. */
async function runUnlessDone<T>(run: () => Promise<T>, recorded: Operation<T>['recorded']): Promise<T> {
  try {
    return await run()
  } catch (error) {
    const done = await recorded?.().catch(() => undefined)
    if (done === undefined) throw error
    return done
  }
}

/** An id that was given to something else. */
export const usedBefore = (id: string, what: string): Error =>
  bad('operationId', `"${id}" was used before, for ${what}: give this operation another one`)

/** How far back in the log an operation is known again. */
const FACTS = 1_000

/** The newest of the last facts of a conversation that is of this type and was recorded for this operation. */
export async function recordedFor<Type extends RecordedEvent['type']>(
  ledger: Pick<Ledger, 'log'>,
  conversationId: string,
  id: string,
  type: Type,
): Promise<RecordedEvent<Type> | undefined> {
  for await (const event of ledger.log(conversationId, { direction: 'backwards', limit: FACTS })) {
    if (event.type === type && event.metadata.correlationId === id)
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- its type was just looked at
      return event as RecordedEvent<Type>
  }
  return undefined
}

/** What such a tool is asked with besides. */
export const operation = { operationId } satisfies z.ZodRawShape
