/**
 * 200 random erasures of messages, persons and conversations, with processes that are killed (-9) in the middle: every
 * erasure has one receipt, `verify` is ok, and neither a piece of eight bytes of an erased text nor its vector is in a
 * file or an output.
 */
import { expect, it, jest } from '@jest/globals'
import { repeated } from '../support/length.js'
import { RandomErasures } from '../support/random-erasures.js'

jest.setTimeout(600_000)

const WORLDS = repeated(10, 1)
const ROUNDS = repeated(5, 1)
const ERASURES = 4

it.each(Array.from({ length: WORLDS }, (_none, at) => at))('world %d', async (at) => {
  const world = await RandomErasures.create(`world ${String(at)}`)
  try {
    for (let round = 0; round < ROUNDS; round += 1) await world.runRound(ERASURES)
    await world.checkExports()
    expect(world.figures.erasures).toBeGreaterThanOrEqual(ROUNDS * ERASURES)
    expect(world.figures.kills).toBeGreaterThan(0)
    expect(world.figures.pieces).toBeGreaterThan(1_000)
    process.stderr.write(`world ${String(at)}: ${JSON.stringify(world.figures)}\n`)
  } finally {
    await world.remove()
  }
})
