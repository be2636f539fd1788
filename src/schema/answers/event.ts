/** Recorded events. */
import { z } from 'zod'
import { metadataSchema } from '../../domain/events/index.js'
import { record } from '../answer.js'
import { revision } from '../fields.js'

/** An event as it was recorded. `data` is stated by its type, in the catalogue of events. */
export const event = record({
  type: z.string(),
  data: z.looseObject({}),
  stream: z.string(),
  revision,
  position: revision,
  id: z.string(),
  metadata: metadataSchema.loose(),
}).meta({ id: 'Fact' })
