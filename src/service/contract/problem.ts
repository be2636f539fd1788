/** What is answered where something is refused or fails: RFC 9457. */
import { z } from 'zod'

/** What all types of problems begin with; the failure's kind stands behind it. */
export const PROBLEM = 'urn:context-ledger:problem:'

/** A problem. */
export const problem = z
  .looseObject({
    type: z.string().meta({ description: `\`${PROBLEM}\` and the kind`, example: `${PROBLEM}NoSuchConversation` }),
    title: z.string().meta({ description: 'What problems of this status are called' }),
    status: z.int(),
    detail: z.string().meta({ description: 'One sentence for people' }),
    kind: z.string().meta({ description: 'The failure’s kind, which programs go by', example: 'NoSuchConversation' }),
    requestId: z.string().meta({ description: 'Stands in the service’s own log and among the uses of keys' }),
    field: z.string().optional().meta({ description: 'The field that is wrong' }),
  })
  .meta({ id: 'Problem' })
