/**
 * The package from the outside, as somebody has it who installed it: its types, its examples, and programs that forget
 * to close it.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync, renameSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { createContext, runInContext } from 'node:vm'
import { openService } from '../../src/library/compose.js'
import { startService } from '../../src/interfaces/service/server.js'
import { isLong, longTest } from '../support/length.js'
import { packedProject, type PackedProject } from '../support/packed.js'
import { createTestDatabase, testServer } from '../support/postgres.js'

const ESBUILD = join(process.cwd(), 'node_modules', 'esbuild', 'bin', 'esbuild')

let project: PackedProject
/** Errors in everything that is compiled with the same strict settings: at once, since each compilation reads all types. */
let errors: readonly string[]
const errorsIn = (file: string): readonly string[] => errors.filter((text) => text.startsWith(file))

beforeAll(() => {
  project = packedProject()
  const files = { 'openai.ts': OPENAI, 'using.ts': USING, 'sdks.ts': SDKS, ...documented() }
  project.write(files)
  errors = project.compile(Object.keys(files))
})
afterAll(() => {
  project.remove()
})

/** An agent's loop, with the types of `openai` in both directions. */
const OPENAI = `
import OpenAI from 'openai'
import type { ChatCompletionMessage, ChatCompletionMessageParam, ChatCompletionTool } from 'openai/resources/chat/completions'
import { createCompactor, openLedger, type ChatMessage, type Ledger, type MessageInput } from 'context-ledger'

export async function loop(openai: OpenAI, ledger: Ledger): Promise<void> {
  const chat = ledger.conversation('c')
  const tools: ChatCompletionTool[] = chat.tools.openai
  const { messages, revision, hash } = await ledger.context('c')
  const completion = await openai.chat.completions.create({ model: 'm', messages, tools })
  await chat.record(completion)
  const [choice] = completion.choices
  if (choice === undefined) return
  await ledger.append('c', choice.message)
  await ledger.append('c', { ...choice.message, answers: { revision: String(revision), hash } })
  for (const call of choice.message.tool_calls ?? []) {
    if (call.type === 'function') await ledger.append('c', { role: 'tool', tool_call_id: call.id, content: 'done' })
  }
}

export async function compressed(openai: OpenAI, history: ChatCompletionMessageParam[], frozen: readonly ChatCompletionMessage[]): Promise<void> {
  const compactor = createCompactor({ store: 'memory' })
  const { history: messages } = await compactor.compress(history, 'c')
  await openai.chat.completions.create({ model: 'm', messages })
  const again: ChatCompletionMessageParam[] = (await compactor.compress(messages, 'c')).history
  const answers: ChatCompletionMessageParam[] = (await compactor.compress(frozen, 'c')).history
  await openai.chat.completions.create({ model: 'm', messages: [...again, ...answers], stream: true })
}

export const inputs = (param: ChatCompletionMessageParam, message: ChatCompletionMessage, ours: ChatMessage): MessageInput[] => [param, message, ours]
export const outputs = (ours: ChatMessage): ChatCompletionMessageParam => ours

export async function appended(ledger: Ledger, param: ChatCompletionMessageParam, list: readonly ChatCompletionMessageParam[], note: string | undefined): Promise<void> {
  await ledger.append('c', param)
  await ledger.append('c', list)
  await ledger.append('c', { role: 'user', content: [{ type: 'text', text: 'look' }, { type: 'image_url', image_url: { url: 'https://example.org/a.png' } }, { type: 'thinking', signature: 'x' }] })
  await ledger.append('c', { role: 'assistant', content: null, name: note, tool_calls: [{ id: 'x', type: 'function', function: { name: 'run', arguments: '{}' } }], reasoning_content: 'so', refusal: null })
  // @ts-expect-error a misspelt field
  await ledger.append('c', { role: 'assistant', content: null, toolCalls: [] })
  // @ts-expect-error a misspelt option
  await openLedger({ store: 'memory', sumarizer: 'extractive' })
}
`

describe('the types of the package, those of packages checked too', () => {
  it('fit those of openai in both directions, without a cast', () => {
    expect([...errorsIn('openai.ts'), ...errorsIn('node_modules/')]).toEqual([])
  })

  longTest('ask for no types of a driver, and for those of Node only where there are none of the web', () => {
    project.write({
      'plain.ts': `import * as everything from 'context-ledger'\nexport const names = Object.keys(everything)\n`,
    })
    const settings = [{ types: [], lib: undefined }, ...(isLong ? [{}] : [])]
    for (const each of settings) expect(project.compile(['plain.ts'], { noEmit: true, ...each })).toEqual([])
  })
})

/** Each SDK's one line, with the types of the real packages. */
const SDKS = `
import { run, type Agent } from '@openai/agents'
import { wrapLanguageModel, generateText, ToolLoopAgent, type ModelMessage } from 'ai'
import { createAgent, type BaseMessage } from 'langchain'
import type { Ledger } from 'context-ledger'
import { ledgerMiddleware, ledgerSteps } from 'context-ledger/ai-sdk'
import { ledgerMiddleware as ofLangchain } from 'context-ledger/langchain'
import { ledgerSession } from 'context-ledger/openai-agents'
import { ledgerSessionStore } from 'context-ledger/claude-agent-sdk'

type Model = Parameters<typeof wrapLanguageModel>[0]['model']
export async function all(ledger: Ledger, plain: Model, messages: ModelMessage[], agent: Agent, said: BaseMessage[]): Promise<void> {
  const model = wrapLanguageModel({ model: plain, middleware: ledgerMiddleware({ ledger, conversationId: 'c' }) })
  await generateText({ model, messages })
  await generateText({ model: plain, messages, ...ledgerSteps({ ledger, conversationId: 'c' }) })
  await new ToolLoopAgent({ model }).generate({ messages })
  await createAgent({ model: 'm', middleware: [ofLangchain({ ledger, conversationId: 'c' })] }).invoke({ messages: said })
  await run(agent, 'hello', { session: ledgerSession({ ledger, sessionId: 'c' }) })
  await ledgerSessionStore({ ledger }).append({ projectKey: 'p', sessionId: 's' }, [{ type: 'user' }])
}
`

describe('the entry points of SDKs', () => {
  it('fit the types of the real packages, without a cast', () => {
    expect(errorsIn('sdks.ts')).toEqual([])
  })

  it('say which package is missing; the others work without it', () => {
    const modules = join(project.folder, 'node_modules')
    renameSync(join(modules, 'langchain'), join(modules, '.langchain'))
    const load = (path: string) => [process.execPath, '--input-type=module', '-e', `await import('${path}')`]
    const missing = project.run(load('context-ledger/langchain'))
    const paths = ['', '/ai-sdk', '/openai-agents', '/claude-agent-sdk']
    const imports = paths.map((path) => `await import('context-ledger${path}')`).join('; ')
    const otherEntries = project.run([process.execPath, '--input-type=module', '-e', imports])
    renameSync(join(modules, '.langchain'), join(modules, 'langchain'))
    expect(missing.stderr).toContain("Cannot find package 'langchain'")
    expect([otherEntries.status, otherEntries.stderr]).toEqual([0, ''])
  })
})

it('every entry point can be required by CommonJS', () => {
  const paths = ['', '/client', '/proxy', '/ai-sdk', '/langchain', '/openai-agents', '/claude-agent-sdk']
  const required = (path: string): string => `require('context-ledger${path}')`
  // Each alone, or one after the other in one process.
  for (const calls of isLong ? paths.map(required) : [paths.map(required).join('; ')]) {
    const { status, stderr } = project.run([process.execPath, '-e', calls])
    expect({ calls, status, stderr }).toEqual({ calls, status: 0, stderr: '' })
  }
})

/** What every runtime of the web has. An edge runtime has no `process`, `Buffer` or `require`. */
const webGlobals = (): object => ({
  AbortController,
  AbortSignal,
  fetch,
  Headers,
  ReadableStream,
  Request,
  Response,
  TextDecoder,
  TextEncoder,
  URL,
  URLSearchParams,
  clearTimeout,
  console,
  crypto,
  performance,
  queueMicrotask,
  setTimeout,
  structuredClone,
})

it('the client is bundled for an edge runtime, and works there without anything of Node', async () => {
  project.write({
    'edge.ts': `import { openRemoteLedger } from 'context-ledger/client'
export async function talk(url: string) {
  const ledger = openRemoteLedger({ url })
  await ledger.append('edge', { role: 'user', content: 'Which berth is free?' })
  const chat = ledger.conversation('edge')
  await chat.record({ choices: [{ message: { role: 'assistant', content: 'Berth 4.' } }] } as never)
  const { messages } = await ledger.context('edge')
  const refused = await ledger.admin.proofs.createCheckpoint({ key: 'pem' }).catch((error: Error) => error.message)
  return { messages, refused }
}
`,
  })
  const args = ['edge.ts', '--bundle', '--format=iife', '--global-name=edge', '--conditions=workerd,worker,browser']
  const built = project.run([process.execPath, ESBUILD, ...args, '--outfile=edge.js'])
  expect(built.stderr).not.toMatch(/error|warning/iu)
  const context = createContext(webGlobals())
  runInContext(readFileSync(join(project.folder, 'edge.js'), 'utf8'), context)
  const { ledger, ...stores } = await openService({ store: 'memory' })
  const server = await startService({ ledger, stores, host: '127.0.0.1', port: 0, mayBeOpen: true })
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the program above
    const talk = runInContext('edge.talk', context) as (url: string) => Promise<unknown>
    expect(JSON.parse(JSON.stringify(await talk(server.url)))).toEqual({
      messages: [
        { role: 'user', content: 'Which berth is free?' },
        { role: 'assistant', content: 'Berth 4.' },
      ],
      refused: expect.stringContaining('needs Node.js'),
    })
  } finally {
    await server.close()
    await ledger.close()
  }
})

/** A route as Next.js has it: a module that answers requests, and keeps the ledger open between them. */
const ROUTE = `
import { openLedger } from 'context-ledger'
import { saveUIMessages } from 'context-ledger/ai-sdk'

const opening = openLedger({ store: 'memory' })
export async function POST(request: Request): Promise<Response> {
  const { id, messages } = JSON.parse(await request.text())
  const ledger = await opening
  await saveUIMessages(ledger, id, messages)
  await ledger.append(id, { role: 'assistant', content: 'Berth 4.' })
  const { hits } = await ledger.search('berth', { conversationId: id })
  return Response.json({ messages: (await ledger.context(id)).messages, hits: hits.length })
}
`

/** A server that loads a built route and answers one request with it. */
const SERVER = `
import { createServer } from 'node:http'

for (const path of process.argv.slice(2)) {
  const { POST } = await import(path)
  const server = createServer(async (request, response) => {
    const chunks = []
    for await (const chunk of request) chunks.push(chunk)
    const answer = await POST(new Request('http://127.0.0.1' + request.url, { method: 'POST', body: Buffer.concat(chunks) }))
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text())
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const messages = [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'Which berth is free?' }] }]
  const answer = await fetch('http://127.0.0.1:' + server.address().port, { method: 'POST', body: JSON.stringify({ id: 'c', messages }) })
  console.log(await answer.text())
  server.close()
}
process.exit()
`

it("a bundler's server build that keeps the package external answers a request that appends and reads", () => {
  project.write({ 'route.ts': ROUTE, 'server.mjs': SERVER })
  const formats = { cjs: './route.cjs', esm: './route.mjs' }
  for (const [format, path] of Object.entries(formats)) {
    const args = ['route.ts', '--bundle', '--platform=node', `--format=${format}`, '--external:context-ledger']
    expect(project.run([process.execPath, ESBUILD, ...args, `--outfile=${path}`])).toMatchObject({ status: 0 })
  }
  const { status, stdout, stderr } = project.run([process.execPath, 'server.mjs', ...Object.values(formats)])
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  const answers = stdout
    .trim()
    .split('\n')
    .map((line): unknown => JSON.parse(line))
  const answer = {
    messages: [
      { role: 'user', content: 'Which berth is free?' },
      { role: 'assistant', content: 'Berth 4.' },
    ],
    hits: 2,
  }
  expect(answers).toEqual([answer, answer])
})

it('an error has the name of its class, and the files have source maps', () => {
  const { stdout } = project.run([
    process.execPath,
    '--enable-source-maps',
    '--input-type=module',
    '-e',
    `import { openLedger } from 'context-ledger'
     await openLedger({ store: 1 }).catch((error) => console.log(error.constructor.name, error.stack))`,
  ])
  expect(stdout).toMatch(/^LedgerError /u)
  expect(stdout).toMatch(/src\/library\/[\w-]+\.ts:\d+/u)
})

const USING = `
import { createCompactor, openLedger } from 'context-ledger'

let kept
{
  await using ledger = await openLedger({ store: 'using', ahead: false })
  await using compactor = createCompactor({ ledger })
  await compactor.compress([{ role: 'user', content: 'x' }], 'c')
  kept = ledger
}
console.log(await kept.context('c').then(() => 'open', (error: Error) => error.message))
`

/** Appends, leaves what it has opened, and ends by itself or is killed by the test's own time limit. */
const FORGETS = `
import { openLedger } from 'context-ledger'

const ledger = await openLedger({ store: process.argv[2], policy: { modelMaxTokens: 2_000, chunkMinTokens: 0 } })
for (let at = 0; at < 60; at += 1) await ledger.append('c', { role: 'user', content: ('message ' + at + ' ').repeat(20) })
await ledger.search('message', { conversationId: 'c' })
`

const READS = `
import { openLedger } from 'context-ledger'

const ledger = await openLedger({ store: process.argv[2] })
let messages = 0
let cycles = 0
for await (const { type } of ledger.log('c')) {
  if (type === 'MessageAppended') messages += 1
  if (type === 'MessagesPruned') cycles += 1
}
console.log(JSON.stringify({ messages, compacted: cycles > 0, ok: (await ledger.admin.verify()).ok }))
`

describe('a ledger that is let go of', () => {
  it('by `await using`, whatever of it the libraries of the project know', () => {
    const withDisposable = isLong ? project.compile(['using.ts'], { lib: ['ES2023', 'ESNext.Disposable'] }) : []
    expect([...errorsIn('using.ts'), ...withDisposable]).toEqual([])
    expect(project.run([process.execPath, 'out/using.js'])).toMatchObject({
      status: 0,
      stdout: 'the ledger is closed\n',
    })
  })

  const expectEnds = (store: string): void => {
    project.write({ 'forgets.mjs': FORGETS, 'reads.mjs': READS })
    expect(project.run([process.execPath, 'forgets.mjs', store])).toMatchObject({ status: 0, stderr: '' })
    // This one forgets it too; what was under way when the first one had nothing more to say was done before it ended.
    expect(project.run([process.execPath, 'reads.mjs', store])).toMatchObject({
      status: 0,
      stdout: `${JSON.stringify({ messages: 60, compacted: true, ok: true })}\n`,
    })
  }

  // oxlint-disable-next-line jest/expect-expect -- `expectEnds` expects
  it('by nobody: the process ends by itself, and what it appended is in the folder', () => {
    expectEnds(join(project.folder, 'forgotten'))
  })

  longTest('by nobody, in memory', () => {
    project.write({ 'forgets.mjs': FORGETS })
    expect(project.run([process.execPath, 'forgets.mjs', 'memory'])).toMatchObject({ status: 0, stderr: '' })
  })

  const onServer = testServer === '' ? it.skip : it
  onServer('by nobody, on a server', async () => {
    const { address, drop } = await createTestDatabase()
    try {
      expectEnds(address)
    } finally {
      await drop()
    }
  })
})

const examples = readdirSync('examples').filter((name) => name.endsWith('.ts'))
describe('the examples of the package', () => {
  it.each(isLong ? examples : examples.slice(0, 2))('%s runs from where it was installed', (name) => {
    const { status, stdout, stderr } = project.run([
      process.execPath,
      `node_modules/context-ledger/dist/examples/${name.replace(/ts$/u, 'js')}`,
    ])
    expect({ status, stderr, said: stdout.trim() !== '' }).toEqual({ status: 0, stderr: '', said: true })
  })
})

/** The Claude Agent SDK brings programs of 400 MB and is not installed: as much of its types as the documents name. */
const CLAUDE_AGENT_SDK = `declare module '@anthropic-ai/claude-agent-sdk' {
  import type { LedgerSessionStore } from 'context-ledger/claude-agent-sdk'
  interface Asked { readonly prompt: string; readonly options: { readonly sessionStore: LedgerSessionStore } }
  export function query(asked: Asked): AsyncIterable<{ readonly type: string }>
}
`

/** The blocks of TypeScript in the documentation, by the file and line that they stand in. */
function codeBlocks(): Record<string, string> {
  const pages = [
    'README.md',
    'ARCHITECTURE.md',
    ...readdirSync('docs', { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.md'))
      .map((path) => join('docs', path)),
  ]
  const blocks: Record<string, string> = {}
  for (const page of pages) {
    const text = readFileSync(page, 'utf8')
    for (const { 1: code = '', index } of text.matchAll(/^```(?:ts|typescript|js)\n(.*?)^```$/gmsu)) {
      blocks[`blocks/${page.replaceAll(/\W/gu, '-')}-${String(text.slice(0, index).split('\n').length)}.ts`] = code
    }
  }
  return blocks
}

/** Every block, and the examples, as files of another project. */
const documented = (): Record<string, string> => ({
  ...Object.fromEntries(Object.entries(codeBlocks()).map(([path, code]) => [path, `${code}export {}\n`])),
  'blocks/claude-agent-sdk.d.ts': CLAUDE_AGENT_SDK,
  ...Object.fromEntries(examples.map((name) => [`copied/${name}`, readFileSync(join('examples', name), 'utf8')])),
})

describe('the code of the documentation', () => {
  it('compiles as strict as can be: every block, and the examples in another project', () => {
    expect(Object.keys(documented())).toContainEqual(expect.stringContaining('README'))
    expect(errors).toEqual([])
  })

  it('of the README runs, with openai, on a folder: the agent reads its memory and answers', async () => {
    const readme = Object.entries(codeBlocks()).find(([path]) => path.includes('README'))
    project.write({ 'readme.ts': readme?.[1] ?? '' })
    // The test above checks its types.
    expect(
      project.run([process.execPath, ESBUILD, 'readme.ts', '--target=es2023', '--outfile=out/readme.js']).status,
    ).toBe(0)
    const bodies: string[] = []
    const answers = [
      {
        role: 'assistant',
        content: null,
        refusal: null,
        tool_calls: [
          { id: 'call-1', type: 'function', function: { name: 'memory_read', arguments: '{"query":"production"}' } },
        ],
      },
      { role: 'assistant', content: 'On staging.', refusal: null, annotations: [] },
    ]
    const server = createServer((request, response) => {
      let body = ''
      request
        .setEncoding('utf8')
        .on('data', (text: string) => {
          body += text
        })
        .on('end', () => {
          bodies.push(body)
          response.setHeader('content-type', 'application/json')
          response.end(
            JSON.stringify({
              id: 'r',
              object: 'chat.completion',
              created: 0,
              model: 'm',
              choices: [{ index: 0, finish_reason: 'stop', message: answers[bodies.length - 1] }],
            }),
          )
        })
    })
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve)
    })
    try {
      const address = server.address()
      const port = typeof address === 'object' && address !== null ? address.port : 0
      const run = spawn(process.execPath, ['out/readme.js'], {
        cwd: project.folder,
        env: {
          ...process.env,
          NODE_OPTIONS: '',
          OPENAI_API_KEY: 'k',
          OPENAI_BASE_URL: `http://127.0.0.1:${String(port)}/v1`,
        },
      })
      let output = ''
      for (const stream of [run.stdout, run.stderr])
        stream.setEncoding('utf8').on('data', (text: string) => {
          output += text
        })
      const status = await new Promise((resolve) => {
        run.on('close', resolve)
      })
      expect({ status, said: output }).toEqual({
        status: 0,
        said: '\nOn staging.\n',
      })
      expect(bodies).toHaveLength(2)
      expect(JSON.parse(bodies[1] ?? '')).toMatchObject({
        messages: [
          { content: 'Never touch production. Where may I try the migration?' },
          { tool_calls: [{ id: 'call-1' }] },
          { role: 'tool', tool_call_id: 'call-1', content: expect.stringContaining('hits') },
        ],
      })
    } finally {
      server.close()
    }
  })
})
