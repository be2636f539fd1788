/** The named sections of a summary, if the strategy writes them. */
import { isRecord } from '../../lib/is-record.js'
import { z } from 'zod'
import { type Upcast } from './upcast.js'

const entries = z.array(z.string())

export const sectionsSchema = z.object({
  /** Requests of the user. */
  requests: entries,
  /** Constraints and preferences, in the user's own words. */
  constraints: entries,
  /** Decisions with their reasons. */
  decisions: entries,
  /** Names, numbers, dates and identifiers that may be needed later. */
  facts: entries,
  /** Work on files, and other actions; `file` is empty if none was touched. */
  completedWork: z.array(z.object({ file: z.string(), action: z.string(), description: z.string() })),
  /** Errors, each with its resolution. */
  errors: entries,
  /** Tasks, questions and decisions that are still open. */
  openItems: entries,
  /** Open items of earlier batches that these messages completed or dropped. */
  closedItems: entries,
  currentState: entries,
  nextSteps: entries,
  /** Earlier statements that no longer hold. */
  superseded: entries,
})
/** The sections of a summary. */
export type Sections = z.infer<typeof sectionsSchema>

/** Sections without an entry. */
export const NO_SECTIONS: Sections = {
  requests: [],
  constraints: [],
  decisions: [],
  facts: [],
  completedWork: [],
  errors: [],
  openItems: [],
  closedItems: [],
  currentState: [],
  nextSteps: [],
  superseded: [],
}

/** Five sections became eleven; `pendingWork` is called `openItems`. Applies to one value that may be sections. */
export function upcastSections(stored: unknown): unknown {
  if (!isRecord(stored)) return stored
  const { pendingWork, ...rest } = stored
  return { ...NO_SECTIONS, ...rest, openItems: pendingWork }
}

/** Upcasts the field `sections` of an event that has it. */
export const withSections: Upcast = (data) =>
  'sections' in data ? { ...data, sections: upcastSections(data['sections']) } : data
