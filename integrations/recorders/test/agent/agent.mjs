/** A tiny agent, which asks one question after another. */

export const RULES = 'You review code. Say what is wrong, and nothing else. '.repeat(400);
const MARKER = { cache_control: { type: 'ephemeral' } };

/**
 * @param {import('@anthropic-ai/sdk').Anthropic} client
 * @param {{ system?: () => string, questions?: number }} [options]
 */
export async function run(client, { system = () => RULES, questions = 3 } = {}) {
  const messages = [];
  for (let number = 0; number < questions; number++) {
    const asked = { type: 'text', text: `What does file ${number} lack?` };
    const answer = await client.messages.create({
      model: 'claude-opus-5',
      max_tokens: 64,
      system: [{ type: 'text', text: system(), ...MARKER }],
      // The marker moves on with the last question.
      messages: [...messages, { role: 'user', content: [{ ...asked, ...MARKER }] }],
    });
    const said = [{ type: 'text', text: answer.content[0].text }];
    messages.push({ role: 'user', content: [asked] }, { role: 'assistant', content: said });
  }
}
