/** Shares of the text before the first compaction at which facts are planted. */
export const depths = [0.05, 0.25, 0.5, 0.75, 0.95]

const nouns = ['ferry queue', 'tide gauge', 'berth index', 'pilot roster', 'harbour light', 'cargo ledger']
const firstNames = ['Ilse', 'Tomás', 'Anneke', 'Kofi', 'Mirela', '小雨']
const lastNames = ['Oyelaran', 'Brandt', "O'Neill", 'Šimić', 'van der Zee', 'Qvist']
const labels = ['CRITICAL', 'CONSTRAINT', 'FACT']

/** One sentence of each kind. No two are equal: each holds digits of its own. */
const sentences = {
  number: (random, noun) => `The ${noun} waits ${random.between(1_000, 99_999)}.${random.hex(2)} ms at most.`,
  name: (random, noun) =>
    `Who answers for the ${noun} ${random.hex(4)} is ${random.pick(firstNames)} ${random.pick(lastNames)}.`,
  path: (random, noun) =>
    `The ${noun} is configured in /srv/${random.hex(6)}/etc/${random.hex(4)}.toml only.`,
  date: (random, noun) =>
    `The ${noun} ${random.hex(4)} moves on 20${random.between(27, 49)}-0${random.between(1, 9)}-1${random.between(0, 9)} at 06:45 UTC.`,
  negation: (random, noun) => `Never restart the ${noun} while unit ${random.hex(6)} is attached.`,
  steps: (random, noun) =>
    `To move the ${noun}: 1. drain ${random.hex(4)}, 2. copy ${random.hex(4)}, 3. open ${random.hex(4)}.`,
  rule: (random, noun) => `Before a change to the ${noun}, run \`make ${random.hex(6)}\` → read it → “sign”.`,
}

export const kinds = Object.keys(sentences)

/**
 * One pinned fact and one plain fact of each kind at each depth, in the same words but for their digits. `pin`: by
 * the API; `label`: by a person's labelled line; `plain`: by nothing. Pinned ones have the `text` that has to stand.
 */
export function makeFacts(random, replicate) {
  const facts = []
  for (const depth of depths) {
    for (const kind of kinds) {
      const isLabelled = (facts.length / 2 + replicate) % 2 === 1
      const say = () => sentences[kind](random, random.pick(nouns))
      facts.push(isLabelled ? labelled(random, depth, say()) : pinned(random, depth, say()))
      facts.push({ mode: 'plain', depth, kind, text: say() })
    }
  }
  return shuffled(facts, random)
}

/** Or those of a kind would always stand before those of another. */
function shuffled(list, random) {
  const order = new Map(list.map((each) => [each, random.next()]))
  return [...list].sort((one, other) => order.get(one) - order.get(other))
}

function pinned(random, depth, text) {
  return { mode: 'pin', depth, key: `fact ${random.hex(8)}`, text }
}

function labelled(random, depth, sentence) {
  const label = random.pick(labels)
  const hasKey = random.next() < 0.5
  const text = hasKey ? `${label}[fact ${random.hex(8)}]: ${sentence}` : `${label}: ${sentence}`
  return { mode: 'label', depth, text }
}
