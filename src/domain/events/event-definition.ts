/** What the file of an event says. The record of all events is `index.ts`. */
import type { z } from 'zod'
import type { Upcasters } from './upcast.js'

export interface EventDefinition<Schema extends z.ZodType> {
  /** What it says, in a sentence; `docs/events.md` has it from here. */
  readonly says: string
  /** Of the shape that is written today. */
  readonly version: number
  /** Of its data. */
  readonly schema: Schema
  /**
   * What the schema makes of data of today's version, where they are such as most are and a look is enough; else
   * undefined, and the schema is asked. It gives just what the schema gives.
   */
  readonly usual?: (data: Readonly<Record<string, unknown>>) => z.output<Schema> | undefined
  /** Every step from version 1 to today's. */
  readonly upcasters?: Upcasters
}

export const defineEvent = <Schema extends z.ZodType>(event: EventDefinition<Schema>): EventDefinition<Schema> => event
