/** Fields that many events share. Revisions are `bigint` in the program and decimal strings in JSON. */
import { z } from 'zod'

export const id = z.string().min(1)
export const time = z.iso.datetime()
export const count = z.number().int().nonnegative()
export const revision = z.string().regex(/^\d+$/).transform(BigInt)
export const hash = z.string().regex(/^[0-9a-f]{64}$/)

/** From the earliest to the latest of the summarized messages. */
export const span = { startTime: time, endTime: time, messageCount: count }
