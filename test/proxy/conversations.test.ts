/**
 * Many clients with few words, none of which names its conversation: each message ends in its own conversation. Lists that
 * are equal to the last letter cannot be distinguished; all others can.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { openLedger, type Ledger } from '../../src/index.js'
import { runsOf } from '../support/length.js'
import { answerAsScripted, LOSSES, WorldRun, type Action, type World } from '../support/proxy-world.js'
import { startUpstream, type UpstreamStub } from '../support/upstream-stub.js'

let upstream: UpstreamStub
let ledger: Ledger

beforeAll(async () => {
  upstream = await startUpstream()
  answerAsScripted(upstream)
  ledger = await openLedger({ store: 'memory', policy: { modelMaxTokens: 128_000 } })
})
afterAll(async () => {
  await upstream.close()
  await ledger.close()
})

const LONG = 'The berths of the port were listed, and cranes, hulls and pilots were assigned to each of them in order.'
const text = fc.constantFrom('go on', 'which berth?', 'thanks', `What is wrong here: ${LONG}`)
const answer = fc.constantFrom('OK, done.', 'Berth 7.', LONG)
const at = fc.nat(4)
const say: fc.Arbitrary<Action> = fc.record({ kind: fc.constant('say'), text, answer, calls: fc.nat(2) })
const fail: fc.Arbitrary<Action> = fc.record({
  kind: fc.constant('fail'),
  text,
  answer,
  calls: fc.nat(1),
  loss: fc.constantFrom(...LOSSES),
  next: fc.constantFrom('retries', 'keeps', 'joins', 'drops'),
})
const compact = (isAnswer: fc.Arbitrary<boolean>): fc.Arbitrary<Action> =>
  fc.record({ kind: fc.constant('compact'), kept: fc.nat(2), text, answer, isAnswer })
const restart: fc.Arbitrary<Action> = fc.record({ kind: fc.constant('restart') })
const action: fc.Arbitrary<Action> = fc.oneof(
  { arbitrary: say, weight: 8 },
  { arbitrary: fail, weight: 2 },
  { arbitrary: fc.record({ kind: fc.constant('retry'), isMarked: fc.boolean(), answer }), weight: 2 },
  {
    arbitrary: fc.record({ kind: fc.constantFrom('edit', 'rewind', 'prune', 'clear'), at, text, answer }),
    weight: 4,
  },
  { arbitrary: fc.record({ kind: fc.constant('fork'), of: at, text, answer }), weight: 1 },
  { arbitrary: compact(fc.boolean()), weight: 1 },
  { arbitrary: restart, weight: 1 },
)

/** Worlds of some clients. */
const worldOf = (clients: number, steps: number): fc.Arbitrary<World> =>
  fc
    .tuple(fc.constantFrom('chat', 'messages', 'responses'), fc.boolean(), fc.constantFrom('', 'Be brief.'))
    .chain(([api, hasTools, system]) =>
      fc.record({
        mode: fc.constantFrom('observe', 'compact'),
        clients: fc.array(
          fc.record({
            // Most clients are equal, and some differ.
            api: fc.oneof({ arbitrary: fc.constant(api), weight: 9 }, fc.constantFrom('chat', 'messages', 'responses')),
            hasTools: fc.oneof({ arbitrary: fc.constant(hasTools), weight: 9 }, fc.boolean()),
            system: fc.oneof({ arbitrary: fc.constant(system), weight: 9 }, fc.constantFrom('', 'Be brief.')),
          }),
          { minLength: 2, maxLength: clients },
        ),
        steps: fc.array(fc.record({ client: fc.nat(clients - 1), action, isWithNext: fc.boolean() }), {
          minLength: 2,
          maxLength: steps,
        }),
      }),
    )

it('each message ends in its own conversation', async () => {
  await fc.assert(
    fc.asyncProperty(worldOf(6, 24), async (world) => {
      expect((await WorldRun.run(world, upstream, ledger)).problems).toEqual([])
    }),
    { numRuns: runsOf(150) },
  )
}, 900_000)

/** Worlds of clients that differ in their instructions, so that no list can be another client's. */
const worldOfLosses = (clients: number, steps: number): fc.Arbitrary<World> =>
  fc.boolean().chain((hasCompactions) =>
    fc
      .record({
        mode: fc.constantFrom('observe', 'compact'),
        isNamed: fc.boolean(),
        clients: fc.array(
          fc.record({ api: fc.constantFrom('chat', 'messages', 'responses'), hasTools: fc.boolean() }),
          { minLength: 1, maxLength: clients },
        ),
        first: say,
        steps: fc.array(
          fc.record({
            client: fc.nat(clients - 1),
            // Without a header, a new proxy does not know what a compaction left of a list.
            action: fc.oneof(
              { arbitrary: say, weight: 2 },
              { arbitrary: fail, weight: 3 },
              { arbitrary: hasCompactions ? compact(fc.constant(false)) : restart, weight: 1 },
            ),
            isWithNext: fc.boolean(),
          }),
          { minLength: 1, maxLength: steps },
        ),
      })
      .map(({ first, ...world }) => ({
        ...world,
        clients: world.clients.map((client, index) => ({ ...client, system: `Be brief, ${String(index)}.` })),
        steps: [
          ...world.clients.map((_client, client) => ({ client, action: first, isWithNext: true })),
          ...world.steps,
        ],
      })),
  )

it('a client goes on in its conversation after an answer that was lost', async () => {
  await fc.assert(
    fc.asyncProperty(worldOfLosses(3, 12), async (world) => {
      const { problems, conversationsOfClients, compactions } = await WorldRun.run(world, upstream, ledger)
      expect(problems).toEqual([])
      expect(conversationsOfClients).toEqual(world.clients.map(() => 1))
      expect(compactions.recorded).toBe(compactions.made)
    }),
    { numRuns: runsOf(60) },
  )
}, 900_000)
