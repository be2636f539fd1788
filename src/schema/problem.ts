/** Problem documents (RFC 9457). */
import { z } from 'zod'

/** Prefix of all problem types, followed by the kind of the failure. */
export const PROBLEM = 'urn:context-ledger:problem:'

/** A problem. */
export const problem = z
  .looseObject({
    type: z.string().meta({ description: `\`${PROBLEM}\` and the kind`, example: `${PROBLEM}NoSuchConversation` }),
    title: z.string().meta({ description: 'Title of problems with this status' }),
    status: z.int(),
    detail: z.string().meta({ description: 'One sentence for people' }),
    kind: z.string().meta({ description: 'Kind of the failure, for programs', example: 'NoSuchConversation' }),
    fault: z
      .enum(['input', 'state', 'world', 'data'])
      .optional()
      .meta({ description: 'What has to change: the request, the recorded state, a store or model, or damaged data' }),
    requestId: z.string().meta({ description: 'Id of the request, also in the service’s log and in the uses of keys' }),
    field: z.string().optional().meta({ description: 'The invalid field' }),
  })
  .meta({ id: 'Problem' })
