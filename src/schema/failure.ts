/** Failures as parts of answers and problems. */
import { z } from 'zod'
import { revisionOrNoneInJson } from '../domain/values/revision.js'

/** A detail that is a revision for some kinds of failure. -1 is a placeholder for a conversation that does not exist. */
const revision = z
  .union([revisionOrNoneInJson, z.unknown()])
  .optional()
  .meta({ type: 'string', description: 'A revision in decimal digits' })

const span = z.looseObject({ from: revision, to: revision })

/** Details that are revisions, by their names in all kinds of failure. */
const revisionDetails = {
  revision,
  head: revision,
  from: revision,
  to: revision,
  expected: revision,
  actual: revision,
  replaced: span.or(z.unknown()).optional().meta({ type: 'object' }),
}

/** The details of a failure. */
export const failureDetails = z.looseObject(revisionDetails)

/**
 * A failure of an operation: its kind, and details by kind. Each capability has the types of its own failures, and a
 * newer service may have kinds that this version does not know.
 */
// oxlint-disable-next-line typescript/no-explicit-any
export const failure: z.ZodType<any> = z
  .looseObject({ kind: z.string(), ...revisionDetails })
  .meta({ id: 'Failure', description: 'Kind of the failure, and its details' })
