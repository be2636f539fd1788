/** Fields that many events share. Revisions are numbers in the program and decimal digits in JSON. */
import { z } from 'zod'
import { revisionInJson } from '../values/revision.js'

export const id = z.string().min(1)
export const time = z.iso.datetime()
export const count = z.number().int().nonnegative()
export const revision = revisionInJson
export const hash = z.string().regex(/^[0-9a-f]{64}$/)

/** From the earliest to the latest of the summarized messages. */
export const span = { startTime: time, endTime: time, messageCount: count }
