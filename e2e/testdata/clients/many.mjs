// Creates at the same time, and prints what the service says that it has created.
import { Petcat } from "petcat";

const petcat = new Petcat();
const [writers, each] = process.argv.slice(2).map(Number);

async function create(writer) {
  for (let i = 0; i < each; i++) {
    const { id, name } = await petcat.categories.create({ name: `writer ${writer}, category ${i}` });
    console.log(id, name);
  }
}

await Promise.all(Array.from({ length: writers }, (_, writer) => create(writer)));
let all = 0;
for await (const _ of petcat.categories.all({ pageSize: 50 })) all++;
console.log(all, "in all pages");
