/**
 * What the page sends to a browser beside its own text: one style, one script, and the plot, made when the program is
 * built (scripts/build.mjs) and shipped with it.
 */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const TYPES = {
  'page.css': 'text/css; charset=utf-8',
  'page.js': 'text/javascript; charset=utf-8',
  'plot.js': 'text/javascript; charset=utf-8',
} as const

/** The name of a file that is sent. */
export type AssetName = keyof typeof TYPES

const isAsset = (name: string): name is AssetName => Object.hasOwn(TYPES, name)

/** A file as it is sent. */
export interface Asset {
  readonly type: string
  readonly text: string
}

/** In `dist` of our own package, wherever below it this very file lies (`src`, or `dist/src` when it is built). */
function folderOf(start: string): string {
  const above = dirname(start)
  if (existsSync(join(above, 'package.json'))) return join(above, 'dist', 'src', 'page', 'assets')
  if (above === start) throw new Error('the files of the page are not there: `npm run build` makes them')
  return folderOf(above)
}

const read = new Map<AssetName, Promise<string>>()

/** The text of a file; it is read once. */
export async function assetText(name: AssetName): Promise<string> {
  const text = read.get(name) ?? readFile(join(folderOf(fileURLToPath(import.meta.url)), name), 'utf8')
  read.set(name, text)
  return await text
}

/** A file by the name that a browser asks for; undefined where there is none. */
export async function asset(name: string): Promise<Asset | undefined> {
  if (name === 'icon.svg') return { type: 'image/svg+xml', text: ICON }
  return isAsset(name) ? { type: TYPES[name], text: await assetText(name) } : undefined
}

/** A sawtooth. */
const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path d="M1 14 6 3v9l5-9v9l4-7" fill="none" stroke="#4a78c4" stroke-width="1.8"/></svg>'
