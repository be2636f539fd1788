/**
 * Imports all conversations of the data directory, as `context-ledger import` does: message by message, settled after
 * each. The read models follow concurrently, and the measurement ends when they have caught up. Each import runs in a
 * separate process, whose maximum memory is reported.
 */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { openLedger, type MessageInput, type PolicySettings } from '../src/index.js'
import { conversationsOf, dataFolder, NO_DATA } from './support/data.js'
import { against, perSecond, reported, type Engine, type Figure, type Group } from './support/figures.js'
import { newPlace } from './support/places.js'

interface Imported {
  readonly messages: number
  readonly seconds: number
  readonly maxRssMb: number
}

const POLICIES: Readonly<Record<string, PolicySettings>> = {
  'default policy (128,000 tokens)': {},
  '32,000 tokens': { modelMaxTokens: 32_000 },
  '8,000 tokens': { modelMaxTokens: 8_000 },
  'no compaction': { modelMaxTokens: 1_000_000_000 },
}

async function importAll(folder: string, store: string, policy: PolicySettings): Promise<Imported> {
  const ledger = await openLedger({ store, policy })
  let messages = 0
  let reading = 0
  const started = performance.now()
  const conversations = conversationsOf(folder)
  for (;;) {
    // The time to read the files is not counted.
    const before = performance.now()
    const next = conversations.next()
    reading += performance.now() - before
    if (next.done === true) break
    for (const message of next.value.messages) {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `append` parses it
      await ledger.append(next.value.id, message as typeof message & MessageInput)
      await ledger.admin.waitForCompaction(next.value.id)
      messages += 1
    }
  }
  await ledger.admin.projections.catchUp()
  const seconds = (performance.now() - started - reading) / 1_000
  await ledger.close()
  return { messages, seconds, maxRssMb: process.resourceUsage().maxRSS / 1_024 }
}

async function inChild(engine: Engine, store: string, name: string): Promise<Imported> {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), engine, store, name], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString('utf8')
  })
  const code = await new Promise<number | null>((resolve) => {
    child.on('close', resolve)
  })
  if (code !== 0) throw new Error(`the import ended with ${String(code)}`)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the child is this file
  return JSON.parse(text) as Imported
}

export const group: Group = {
  title: 'Importing',
  async run(bench) {
    if (dataFolder === undefined) return NO_DATA
    const imported = new Map<string, Imported>()
    for (const name of Object.keys(POLICIES)) {
      bench.say(name)
      const location = await newPlace(bench.engine, 'import')
      imported.set(name, await inChild(bench.engine, location.store, name))
      await location.remove()
    }
    const speed = ({ messages, seconds }: Imported): number => messages / seconds
    const without = imported.get('no compaction')
    const baseline = without === undefined ? undefined : { name: 'without compaction', value: speed(without) }
    const memory = without === undefined ? undefined : { name: 'without compaction', value: without.maxRssMb }
    const megabytes = (value: number): string => `${value.toFixed(0)} MB`
    return [...imported].flatMap(([name, done]): Figure[] => {
      if (done === without) return []
      const messages = (value: number): string => perSecond(value, 'messages')
      return [
        against(
          `import with compaction, ${name}`,
          speed(done),
          { least: 500 },
          messages,
          baseline,
          `${done.messages.toLocaleString('en')} messages in ${done.seconds.toFixed(0)} s`,
        ),
        {
          ...reported(`resident memory at most, ${name}`, done.maxRssMb, megabytes, memory),
          target: '<= 1,024 MB',
          met: done.maxRssMb <= 1_024,
        },
      ]
    })
  },
}

const [, script, , store, name] = process.argv
if (
  script === fileURLToPath(import.meta.url) &&
  store !== undefined &&
  name !== undefined &&
  dataFolder !== undefined
) {
  process.stdout.write(JSON.stringify(await importAll(dataFolder, store, POLICIES[name] ?? {})))
}
