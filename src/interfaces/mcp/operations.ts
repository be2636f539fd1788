/**
 * Runs an operation once for each operation id, so that a client can repeat a call whose answer was lost. The process
 * remembers the latest operations with their answers. An operation that must not run twice is also found in the log by the
 * correlation id of its event: from any process, and after a restart.
 */
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { nameSchema } from '../../domain/values/ids.js'
import type { RecordedEvent } from '../../domain/events/index.js'
import type { Ledger } from '../../library/ledger.js'
import { bad } from '../../library/options.js'

/** The argument of a tool that records something. */
const operationId = nameSchema
  .max(200)
  .describe('An id of your choice for this operation: a repeated call with the same id runs once')

/** An operation to run once. */
interface Operation<T> {
  readonly conversationId: string
  readonly operationId: string
  /** The tool with its other arguments as a text. A different text with the same id is an error. */
  readonly description: string
  /** Reads the result from the log; undefined if the operation did not run. */
  readonly findRecorded?: (() => Promise<T | undefined>) | undefined
  readonly run: () => Promise<T>
}

export interface Operations {
  /** Runs an operation, or returns the result of its first run. A failed operation can be repeated. */
  once<T>(operation: Operation<T>): Promise<T>
}

const MAX_REMEMBERED = 1_000

export function createOperations(): Operations {
  const remembered = new LRUCache<string, { readonly what: string; readonly answer: Promise<unknown> }>({
    max: MAX_REMEMBERED,
  })
  return {
    async once<T>({
      conversationId,
      operationId: id,
      description: what,
      findRecorded: recorded,
      run,
    }: Operation<T>): Promise<T> {
      const key = JSON.stringify([conversationId, id])
      const previous = remembered.get(key)
      if (previous !== undefined) {
        if (previous.what !== what) throw operationIdReused(id, previous.what)
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the same tool was called with the same arguments
        return (await previous.answer) as T
      }
      const answer = (async () => (await recorded?.()) ?? (await runUnlessRecorded(run, recorded)))()
      remembered.set(key, { what, answer })
      try {
        return await answer
      } catch (error) {
        if (remembered.get(key)?.answer === answer) remembered.delete(key)
        throw error
      }
    },
  }
}

/** Runs an operation. If it fails because another process ran it at the same time, returns the result of that run. */
async function runUnlessRecorded<T>(run: () => Promise<T>, recorded: Operation<T>['findRecorded']): Promise<T> {
  try {
    return await run()
  } catch (error) {
    const result = await recorded?.().catch(() => undefined)
    if (result === undefined) throw error
    return result
  }
}

/** The error for an id that belongs to another operation. */
export const operationIdReused = (id: string, what: string): Error =>
  bad('operationId', `"${id}" was used before, for ${what}: give this operation another one`)

/** The last events of a conversation that are searched for an operation. */
const MAX_EVENTS = 1_000

/** The latest event of this type that an operation recorded. */
export async function findRecordedEvent<Type extends RecordedEvent['type']>(
  ledger: Pick<Ledger, 'log'>,
  conversationId: string,
  id: string,
  type: Type,
): Promise<RecordedEvent<Type> | undefined> {
  for await (const event of ledger.log(conversationId, { direction: 'backwards', limit: MAX_EVENTS })) {
    if (event.type === type && event.metadata.correlationId === id)
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- its type was just compared
      return event as RecordedEvent<Type>
  }
  return undefined
}

/** The additional argument of such a tool. */
export const operation = { operationId } satisfies z.ZodRawShape
