"""Files read and written by their names below a root, for the tests of files."""

from copilot_kernel.host import Files


async def read(root, name, line=None, limit=None):
    own = Files(root)
    return await own.read(await own.locate(f"{root}/{name}"), line, limit)


async def write(root, name, content):
    own = Files(root)
    await own.write(await own.locate(f"{root}/{name}", to_write=True), content)
